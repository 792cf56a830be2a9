/** `kubeloop dev FILE`. */
import { dev as runDev } from '../dev/dev.ts'
import { DEV_OPTIONS } from '../dev/options.ts'
import { readManifests } from '../manifests.ts'
import { type Command, command } from '../options.ts'

export const dev: Command = command({
  file: 'operator.ts',
  about:
    `Runs an operator against a Kubernetes API in this process, and restarts it when the file or one that it imports
    is saved. kubectl works with .kubeloop/kubeconfig.`,
  options: DEV_OPTIONS,
  passes: true,
  remark: "Ctrl-C stops everything; the API's state is kept for the next run.",
  async run(options, { parent }) {
    await runDev({ options, manifests: await readManifests(options.apply), parent })
  },
})
