/** `kubeloop manifests FILE`. */
import { rangeProblem } from '../../core/ip.ts'
import { markOf, writeFolder } from '../deploy/folder.ts'
import { parseImage } from '../deploy/image.ts'
import { kustomizeCaution, kustomizeFiles, workloadOf } from '../deploy/kustomize.ts'
import { load } from '../load.ts'
import { type ManifestObject, manifestText } from '../manifests.ts'
import { type Command, command, flag, list, namespaceOption, numberFrom, runtime, textLike, value } from '../options.ts'

export const manifests: Command = command({
  file: 'operator.ts',
  about:
    `Prints the objects that run the operator of FILE in a cluster, as YAML: "kubeloop manifests operator.ts --image
    registry.example.com/operator:1.0.0 | kubectl apply -f -". Or writes them to a folder: all files or none, and never
    over a file of yours. Loads the file, but does not start its operator. The rights are those of the kinds that it
    watches, owns and finalizes: add what its own code requests of others.`,
  options: {
    image: value(
      'IMAGE',
      "the container's image, with a tag or digest; default: the operator's name",
      textLike(
        (text) => parseImage(text) !== undefined,
        'REPOSITORY[:TAG][@DIGEST] with a repository in lower case, as in registry.example.com/operator:1.0.0',
      ),
    ),
    namespace: namespaceOption('where the operator runs; default: the operator\'s name and "-system"'),
    createNamespace: flag('print the namespace too'),
    replicas: value(
      'N',
      '1 to 999; more than 1 need leader election; default: 2 with webhooks and leader election, otherwise 1',
      numberFrom(1, 999),
    ),
    serviceMonitor: flag('print a ServiceMonitor of the Prometheus Operator'),
    webhooksFrom: list(
      'CIDR',
      'addresses of the API server, for the NetworkPolicy; repeatable; default: all',
      textLike(
        (text) => rangeProblem(text) === undefined,
        'a range that begins with its first address, as in 10.0.0.0/28',
      ),
    ),
    port: list(
      'N',
      'the port of a server that app.extend adds, for the NetworkPolicy; repeatable; default: none',
      textLike((text) => /^[1-9]\d{0,4}$/.test(text) && Number(text) < 2 ** 16, 'a number from 1 to 65535'),
    ),
    certManager: flag('print CAs and certificates of webhooks and metrics for cert-manager'),
    record: list('FOLDER', 'print the least rights, by a record; repeatable; see kubeloop rights --help'),
    out: value('DIR', 'write a kustomize base: "kubectl apply -k DIR"'),
    runtime,
  },
  passes: true,
  async run({ file, passed, runtime, out, port: ports, ...options }, { print, warn }) {
    const objects = await load(
      { file, passed, runtime },
      { kind: 'deployment', options: { ...options, ports } },
      warn,
    ) as readonly ManifestObject[]
    if (out === undefined) return print(manifestText(objects).trimEnd())
    const folder = out.replace(/(?!^)\/+$/, '')
    const mark = markOf(workloadOf(objects).metadata.name)
    const { written, removed } = await writeFolder({ folder, files: kustomizeFiles(objects), mark })
    for (const name of written) print(`wrote ${folder}/${name}`)
    for (const name of removed) print(`removed ${folder}/${name}`)
    if (written.length + removed.length === 0) print(`${folder} is up to date`)
    print(`apply  kubectl apply -k ${folder}`)
    const caution = kustomizeCaution(objects)
    if (caution !== undefined) warn(caution)
  },
})
