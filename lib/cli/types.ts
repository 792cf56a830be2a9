/** `kubeloop types FILE`: the types of other people's kinds, on standard output. */
import { writeLine } from '../runtime/os/terminal.ts'
import { typesOf } from './crd_types.ts'
import { readManifests } from './manifests.ts'

/** @throws Error when there is no such file, or something else than CustomResourceDefinitions in it. */
export async function printTypes(file: string): Promise<void> {
  for (const { name, objects } of await readManifests([file])) writeLine(typesOf(objects, name).trimEnd())
}
