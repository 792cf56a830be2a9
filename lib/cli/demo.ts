/** `kubeloop demo`: `kubeloop dev` with the sample, which is put beside the API's state. Nothing needs to be there. */
import { writePrivate } from '../runtime/os/files.ts'
import type { DevOptions } from './arguments.ts'
import { dev } from './dev/dev.ts'
import { FOLDER } from './dev/folder.ts'
import { parseManifest, readManifests } from './manifests.ts'
import { SAMPLE_MANIFEST, sampleWithModules } from './sample.ts'

/** Apart from what a project beside it has in `.kubeloop`: its operator knows nothing of the sample's objects. */
const DEMO = `${FOLDER}/demo`
// .mts is a module whatever the package.json above it says.
const FILE = `${DEMO}/sample_controller.mts`
const MANIFEST = 'foo.yaml'
/** Deno resolves names for this package's own modules by the configuration of whoever runs it. */
const DENO_CONFIG = `${DEMO}/deno.json`
const MODULES = ['kubeloop', 'kubeloop/kinds', 'kubeloop/schema', 'zod', 'zod/v4/core']

export async function demo(options: Omit<DevOptions, 'file'>, parent: number): Promise<void> {
  const own = { name: MANIFEST, objects: await parseManifest(SAMPLE_MANIFEST, MANIFEST) }
  const others = await readManifests(options.apply)
  // The modules are where this package is, which may be nowhere near the working folder.
  const resolve = (specifier: string): string => import.meta.resolve(specifier)
  await writePrivate(FILE, sampleWithModules(resolve))
  await writePrivate(
    DENO_CONFIG,
    JSON.stringify({ imports: Object.fromEntries(MODULES.map((name) => [name, resolve(name)])) }),
  )
  await dev({
    options: { ...options, file: FILE },
    manifests: [own, ...others],
    title: FILE,
    parent,
    folder: DEMO,
    denoConfig: DENO_CONFIG,
  })
}
