/** Makes the values of a Helm chart: their defaults with comments, and their schema. */
import { yamlText } from '../yaml_text.ts'
import type { Image } from './image.ts'

/** What the values of a chart depend on. */
export interface ChartFacts {
  readonly image: Image
  readonly replicas: number
  readonly resources: object
  /** The names of all labels that objects have without the chart. */
  readonly labels: readonly string[]
  /** Undefined: any number. */
  readonly maxReplicas: number | undefined
  /** Whether the chart has CustomResourceDefinitions. */
  readonly hasDefinitions: boolean
  /** Whether there is a ServiceMonitor by default; undefined if there is none to have. */
  readonly serviceMonitor: boolean | undefined
}

/** A value, or a map of values. */
type Entry =
  | { readonly comment: string; readonly value: unknown; readonly schema: object }
  | { readonly comment?: string; readonly of: Entries }
type Entries = Readonly<Record<string, Entry>>

const TEXT = { type: 'string' }
const TEXTS = { type: 'object', additionalProperties: TEXT }
const FLAG = { type: 'boolean' }
const OBJECT = { type: 'object' }
const QUANTITIES = { type: 'object', additionalProperties: { type: ['string', 'number'] } }

/** The labels that the chart itself adds to its objects. */
const CHART_LABELS = ['app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', 'helm.sh/chart']

function entriesOf({ image, replicas, resources, labels, maxReplicas, hasDefinitions, serviceMonitor }: ChartFacts) {
  const newLabels = textsBut([...labels, ...CHART_LABELS])
  const entries: Entries = {
    image: {
      of: {
        repository: { comment: '', value: image.repository, schema: { ...TEXT, minLength: 1 } },
        tag: { comment: "Default: the chart's appVersion.", value: '', schema: TEXT },
        digest: {
          comment: 'Pins the content, as in sha256:…',
          value: image.digest ?? '',
          schema: { ...TEXT, pattern: '^([a-z0-9]+:[a-f0-9]{32,})?$' },
        },
        pullPolicy: {
          comment: 'Always, IfNotPresent or Never. Default: as the cluster chooses.',
          value: '',
          schema: { enum: ['', 'Always', 'IfNotPresent', 'Never'] },
        },
      },
    },
    imagePullSecrets: {
      comment: 'Secrets of the namespace for the registry, as in [{ name: registry }].',
      value: [],
      schema: named(),
    },
    replicas: {
      comment: maxReplicas === undefined
        ? 'One of them leads. With more than one there is a PodDisruptionBudget.'
        : 'At most 1: the operator has no leader election, so two would write at the same time.',
      value: replicas,
      schema: { type: 'integer', minimum: 0, ...(maxReplicas !== undefined && { maximum: maxReplicas }) },
    },
    logLevel: {
      comment: 'debug, info, warn or error. Default: info. A log of your own has a level of its own.',
      value: '',
      schema: { enum: ['', 'debug', 'info', 'warn', 'error'] },
    },
    env: { comment: 'Further variables, as in [{ name: TZ, value: UTC }].', value: [], schema: named() },
    resources: {
      comment: '',
      value: resources,
      schema: {
        type: 'object',
        properties: { requests: QUANTITIES, limits: QUANTITIES, claims: named() },
        additionalProperties: false,
      },
    },
    nodeSelector: { comment: '', value: {}, schema: TEXTS },
    tolerations: { comment: '', value: [], schema: { type: 'array', items: OBJECT } },
    affinity: { comment: '', value: {}, schema: OBJECT },
    labels: { comment: 'Further labels of all objects and of the pods.', value: {}, schema: newLabels },
    annotations: {
      comment: 'Further annotations of all objects.',
      value: {},
      schema: textsBut(['helm.sh/resource-policy']),
    },
    podAnnotations: { comment: 'Annotations of the pods.', value: {}, schema: TEXTS },
    serviceAccount: {
      of: { annotations: { comment: 'Further annotations, such as the role of a cloud.', value: {}, schema: TEXTS } },
    },
    networkPolicy: {
      of: {
        enabled: { comment: 'Admits connections to the ports of the operator only.', value: true, schema: FLAG },
      },
    },
  }
  const ofMonitor: Entries = {
    serviceMonitor: {
      of: {
        enabled: { comment: 'Needs the Prometheus Operator.', value: serviceMonitor, schema: FLAG },
        labels: { comment: 'Those that your Prometheus selects.', value: {}, schema: newLabels },
      },
    },
  }
  const ofDefinitions: Entries = {
    crds: {
      of: {
        install: {
          comment: 'Installs and upgrades the CustomResourceDefinitions. They stay when the release is uninstalled.',
          value: true,
          schema: FLAG,
        },
      },
    },
  }
  return {
    ...entries,
    ...(serviceMonitor !== undefined && ofMonitor),
    ...(hasDefinitions && ofDefinitions),
  }
}

/** Returns the schema of a map without the names that the chart sets itself: YAML has each name once. */
function textsBut(names: readonly string[]): object {
  return { ...TEXTS, properties: Object.fromEntries(names.map((name) => [name, false])) }
}

function named(): object {
  return { type: 'array', items: { type: 'object', required: ['name'], properties: { name: TEXT } } }
}

/** Returns the text of values.yaml, and the object of values.schema.json. */
export function valuesOf(facts: ChartFacts): { readonly yaml: string; readonly schema: object } {
  const entries = entriesOf(facts)
  // A chart that depends on this one has further values for it.
  const ofParents = { global: OBJECT, enabled: FLAG }
  const schema = schemaOf(entries)
  return {
    yaml: yamlOf(entries, ''),
    schema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      ...schema,
      properties: { ...schema.properties, ...ofParents },
    },
  }
}

function yamlOf(entries: Entries, indent: string): string {
  return Object.entries(entries).map(([name, entry]) => {
    const comment = entry.comment ? `${indent}# ${entry.comment}\n` : ''
    if ('of' in entry) return `${comment}${indent}${name}:\n${yamlOf(entry.of, `${indent}  `)}`
    return comment + yamlText({ [name]: entry.value }).replace(/^(?=.)/gm, indent)
  }).join('')
}

function schemaOf(entries: Entries) {
  const properties = Object.entries(entries).map(([name, entry]): [string, object] => [
    name,
    'of' in entry ? schemaOf(entry.of) : entry.schema,
  ])
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as Readonly<Record<string, object>>,
    additionalProperties: false,
  }
}
