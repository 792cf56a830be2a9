/** `kubeloop demo`: runs `kubeloop dev` with the sample operator, which it writes beside the API's state. */
import { writePrivate } from '../../runtime/os/user_files.ts'
import { FOLDER } from '../api/folder.ts'
import { dev } from '../dev/dev.ts'
import { DEV_OPTIONS } from '../dev/options.ts'
import { parseManifest, readManifests } from '../manifests.ts'
import { type Command, command } from '../options.ts'
import { readExample, sampleWithModules } from '../package_files.ts'

/** Not `.kubeloop` itself, whose state belongs to the project's own operator. */
const DEMO = `${FOLDER}/demo`
// An .mts file is always a module, whatever the package.json above it says.
const FILE = `${DEMO}/sample_controller.mts`
const MANIFEST = 'foo.yaml'
/** Deno resolves imports in this package's modules by the configuration of the program that it runs. */
const DENO_CONFIG = `${DEMO}/deno.json`
const MODULES = ['kubeloop', 'kubeloop/kinds', 'kubeloop/schema', 'zod', 'zod/v4/core']

export const demo: Command = command({
  about: `Runs "kubeloop dev" with a sample operator and an object for it, in ${DEMO}/.`,
  options: DEV_OPTIONS,
  passes: true,
  async run(options, { parent }) {
    const own = { name: MANIFEST, objects: parseManifest(await readExample(MANIFEST), MANIFEST) }
    const others = await readManifests(options.apply)
    // The modules are beside this package, which may be far from the working folder.
    const resolve = (specifier: string): string => import.meta.resolve(specifier)
    await writePrivate(FILE, await sampleWithModules(resolve))
    await writePrivate(
      DENO_CONFIG,
      JSON.stringify({ imports: Object.fromEntries(MODULES.map((name) => [name, resolve(name)])) }),
    )
    const manifests = [own, ...others]
    await dev({ options: { ...options, file: FILE }, manifests, parent, folder: DEMO, denoConfig: DENO_CONFIG })
  },
})
