/** Makes a Helm chart of an operator's objects. */
import { yamlText } from '../yaml_text.ts'
import { type AnyObject, byFile, markOf } from './files.ts'
import { type ChartFacts, valuesOf } from './helm_values.ts'
import { code, escaped, line, namespaceInTemplate, RELEASE_NAMESPACE, templateText } from './helm_text.ts'
import { parseImage } from './image.ts'
import type { DeployOptions } from './options.ts'
import { type Container, imageOf, placedElsewhere, type Workload, workloadOf } from './parts.ts'

/** Returns the options of the objects that a chart is made of: all that a value can ask for. */
export function chartOptions(options: DeployOptions): DeployOptions {
  return { ...options, namespace: RELEASE_NAMESPACE, createNamespace: false, chart: true }
}

/** The chart's version if the image's tag is not a version, as Helm needs one. */
const FIRST_VERSION = '0.1.0'

const NUMBER = /(?:0|[1-9]\d*)/.source
const IDENTIFIER = /(?:0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*)/.source
/** @see https://semver.org/#spec-item-2 */
const VERSION = new RegExp(`^v?(${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${IDENTIFIER}(?:\\.${IDENTIFIER})*)?)$`)

/**
 * Returns the files of a chart by their paths. `objects` are made with {@link chartOptions}.
 *
 * All objects have the names that the operator has in its file, never the release's: its Lease, its webhooks and the
 * rights on them have these names, too. So a cluster has one release of an operator.
 *
 * @see https://helm.sh/docs/topics/charts/
 */
export function chartFiles(objects: readonly AnyObject[], options: DeployOptions): Map<string, string> {
  const workload = workloadOf(objects)
  const { name } = workload.metadata
  const mark = markOf('helm', name)
  const facts = factsOf(objects, options)
  const templates = [...byFile(withOwnRole(objects))].map(([file, some]) =>
    [`templates/${file}`, `{{- /* ${mark} */ -}}\n${some.map((each) => documentOf(each, name)).join('')}`] as const
  )
  const { yaml, schema } = valuesOf(facts)
  return new Map([
    ['Chart.yaml', `# ${mark}\n${yamlText(chartOf(name, facts.image.tag))}`],
    [
      'values.yaml',
      `# ${mark}.\n# Put values that differ into a file of your own: helm install --values FILE\n${yaml}`,
    ],
    ['values.schema.json', `${JSON.stringify({ $comment: mark, ...schema }, null, 2)}\n`],
    ['templates/_helpers.tpl', helpers(name, mark)],
    ...templates,
    ['templates/NOTES.txt', notes(name, mark)],
  ])
}

function factsOf(objects: readonly AnyObject[], options: DeployOptions): ChartFacts {
  const has = (wanted: string): boolean => objects.some(({ kind }) => kind === wanted)
  const workload = workloadOf(objects)
  return {
    image: parseImage(imageOf(objects)) ?? { repository: imageOf(objects), tag: undefined, digest: undefined },
    replicas: workload.spec.replicas,
    resources: workload.spec.template.spec.containers[0]!.resources,
    labels: [...new Set(objects.flatMap(({ metadata }) => Object.keys(metadata.labels ?? {})))].sort(),
    // The chart's objects have a budget if the operator may have several replicas.
    maxReplicas: has('PodDisruptionBudget') ? undefined : 1,
    hasDefinitions: has('CustomResourceDefinition'),
    serviceMonitor: has('ServiceMonitor') ? options.serviceMonitor ?? false : undefined,
  }
}

function chartOf(name: string, tag: string | undefined): object {
  const version = VERSION.exec(tag ?? '')?.[1] ?? FIRST_VERSION
  return {
    apiVersion: 'v2',
    name,
    description: `Runs the operator ${name}`,
    type: 'application',
    version,
    appVersion: tag,
  }
}

/**
 * Renames the Role in the release's namespace, if there are Roles in others: one of those may be the release's, and has
 * a Role with the operator's name then.
 */
function withOwnRole(objects: readonly AnyObject[]): readonly AnyObject[] {
  if (placedElsewhere(objects).length === 0) return objects
  return objects.map((each) => {
    const { kind, metadata } = each
    if (!kind.startsWith('Role') || metadata.namespace !== RELEASE_NAMESPACE) return each
    const name = `${metadata.name}-own`
    const { roleRef } = each as { readonly roleRef?: object }
    return { ...each, metadata: { ...metadata, name }, ...(roleRef && { roleRef: { ...roleRef, name } }) }
  })
}

const MANY = 'gt (int .Values.replicas) 1'

/** The values on which whole objects depend. */
const CONDITIONS: Readonly<Record<string, string>> = {
  CustomResourceDefinition: '.Values.crds.install',
  NetworkPolicy: '.Values.networkPolicy.enabled',
  PodDisruptionBudget: MANY,
  ServiceMonitor: '.Values.serviceMonitor.enabled',
}

/** Returns the template of an object. */
function documentOf(object: AnyObject, name: string): string {
  const plain = escaped(object)
  const filled = plain.kind === 'Deployment' ? withValues(plain as Workload, name) : plain
  const text = `---\n${namespaceInTemplate(templateText({ ...filled, metadata: metadataOf(plain, name) }))}`
  const condition = CONDITIONS[object.kind]
  return condition === undefined ? text : `{{- if ${condition} }}\n${text}{{- end }}\n`
}

function metadataOf({ kind, metadata }: AnyObject, name: string): AnyObject['metadata'] {
  const { labels, annotations, ...rest } = metadata
  return {
    ...rest,
    labels: {
      ...labels,
      ...line(`{{- include "${name}.labels" . | nindent @own }}`),
      ...(kind === 'ServiceMonitor' && mapLines('.Values.serviceMonitor.labels')),
    },
    ...annotationsOf(
      {
        ...annotations,
        // Helm would delete the definitions with the release, and so all objects of their kinds.
        ...(kind === 'CustomResourceDefinition' && { 'helm.sh/resource-policy': 'keep' }),
      },
      kind === 'ServiceAccount'
        ? ['.Values.annotations', '.Values.serviceAccount.annotations']
        : ['.Values.annotations'],
    ),
  }
}

/** Returns the annotations of an object and those in the values; no field if there are none. */
function annotationsOf(own: Readonly<Record<string, string>>, values: readonly string[]): object {
  if (Object.keys(own).length === 0 && values.length === 1) return field('annotations', values[0]!)
  const annotations = { ...own, ...Object.assign({}, ...values.map(mapLines)) as object }
  if (Object.keys(own).length > 0) return { annotations }
  return { ...line(`{{- if or ${values.join(' ')} }}`), annotations, ...line('{{- end }}') }
}

/** Returns the entries of a map in the values. */
function mapLines(value: string): Readonly<Record<string, string>> {
  return line(`{{- with ${value} }}\n{{- toYaml . | nindent @own }}\n{{- end }}`)
}

/** Returns a field with a map or a list in the values, left out if that is empty. */
function field(name: string, value: string): object {
  return line(`{{- with ${value} }}\n${name}:\n{{- toYaml . | nindent @below }}\n{{- end }}`)
}

function withValues(workload: Workload, name: string): AnyObject {
  const { spec } = workload
  const { metadata, spec: { topologySpreadConstraints, containers: [container], ...pod } } = spec.template as
    & Workload['spec']['template']
    & { readonly spec: { readonly topologySpreadConstraints?: unknown } }
  return {
    ...workload,
    spec: {
      ...spec,
      replicas: code('.Values.replicas'),
      template: {
        metadata: {
          labels: { ...metadata.labels, ...mapLines('.Values.labels') },
          ...field('annotations', '.Values.podAnnotations'),
        },
        spec: {
          ...pod,
          ...field('imagePullSecrets', '.Values.imagePullSecrets'),
          ...field('nodeSelector', '.Values.nodeSelector'),
          ...field('tolerations', '.Values.tolerations'),
          ...field('affinity', '.Values.affinity'),
          ...(topologySpreadConstraints !== undefined && {
            ...line(`{{- if ${MANY} }}`),
            topologySpreadConstraints,
            ...line('{{- end }}'),
          }),
          containers: [containerWithValues(container!, name)],
        },
      },
    },
  }
}

function containerWithValues(
  { name: own, image: _, resources: __, env: stated = [], ...rest }: Container,
  name: string,
): object {
  const env = stated as readonly object[]
  return {
    name: own,
    image: code(`include "${name}.image" . | quote`),
    ...line('{{- with .Values.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}'),
    ...(env.length > 0 ? { env } : line('{{- if or .Values.logLevel .Values.env }}\nenv:')),
    ...line(
      '{{- with .Values.logLevel }}\n- name: KUBELOOP_LOG\n  value: {{ . | quote }}\n{{- end }}\n' +
        '{{- with .Values.env }}\n{{- toYaml . | nindent @own }}\n{{- end }}',
    ),
    ...(env.length > 0 ? {} : line('{{- end }}')),
    ...field('resources', '.Values.resources'),
    ...rest,
  }
}

function helpers(name: string, mark: string): string {
  return `{{/* ${mark} */}}
{{- define "${name}.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- define "${name}.image" -}}
{{- .Values.image.repository -}}
{{- with .Values.image.tag | default .Chart.AppVersion }}:{{ . }}{{ end -}}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end }}
`
}

function notes(name: string, mark: string): string {
  return `{{- /* ${mark} */ -}}
The operator ${name} runs in the namespace {{ .Release.Namespace }}.

  kubectl --namespace {{ .Release.Namespace }} rollout status deployment/${name}
  kubectl --namespace {{ .Release.Namespace }} logs deployment/${name} --follow
`
}
