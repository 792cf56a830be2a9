/** `kubeloop types FILE`. */
import { typesOf } from '../crd_types.ts'
import { readManifests } from '../manifests.ts'
import { type Command, command } from '../options.ts'

export const types: Command = command({
  file: 'crd.yaml',
  about:
    `Prints TypeScript for the kinds of the CustomResourceDefinitions in FILE (YAML or JSON, "-" for standard input):
    a type to read, a type to write, and the Resource, as in "kubeloop types crd.yaml > widget.ts".`,
  options: {},
  async run({ file }, { print }) {
    for (const { name, objects } of await readManifests([file])) print(typesOf(objects, name).trimEnd())
  },
})
