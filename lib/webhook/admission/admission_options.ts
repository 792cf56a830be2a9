/** The options of an admission: which requests the API server sends to it. */
import { type Duration, toMs } from '../../core/duration.ts'
import { messageOf } from '../../core/errors.ts'
import { checkOptionNames, type ShapeOf } from '../../core/option_names.ts'
import type { AnyResource } from '../../core/resource.ts'
import type { LabelSelector } from '../../core/selectors.ts'

/** What a request does to an object. CONNECT, as of `kubectl exec`, has no object of the kind. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE'

/**
 * Which requests the API server sends to an admission, and what happens if the admission cannot be called. The defaults
 * are those of the API, except where noted.
 *
 * @see https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/validating-webhook-configuration-v1/
 */
export interface AdmissionOptions {
  /**
   * Default: CREATE and UPDATE. Add DELETE for a `validate` that protects objects from deletion; `default` is never
   * called for it.
   */
  operations?: readonly AdmissionOperation[]
  /**
   * Subresources that count besides the object itself, such as `status`; `*` for all. Those whose objects are of
   * another kind, such as `scale`, cannot be admitted: they pass without a call. Default: none. With
   * `matchConditions` only the subresource counts: `request.subResource == "eviction"`.
   */
  subresources?: readonly string[]
  /**
   * `Fail`: the request fails if the admission cannot be called. `Ignore`: it is admitted without. Default: `Fail`.
   */
  failurePolicy?: 'Fail' | 'Ignore'
  /**
   * `None`: the admission changes nothing but the object, so that it is called for dry runs, too. `NoneOnDryRun`: it
   * does, but not if `dryRun` is set. Default: `None`.
   */
  sideEffects?: 'None' | 'NoneOnDryRun'
  /**
   * `Equivalent`: requests for other versions of the kind count, too, and are converted to this one. `Exact`: they do
   * not. Default: `Equivalent`.
   */
  matchPolicy?: 'Equivalent' | 'Exact'
  /** How long the API server waits for an answer: whole seconds from 1 to 30. Default: `10s`. */
  timeout?: Duration
  /** Selects objects by the labels of their namespaces. Default: all. */
  namespaceSelector?: LabelSelector
  /**
   * What this admission gets although the cluster needs it while the operator does not answer. Both are about
   * built-in kinds with `failurePolicy: 'Fail'`. Default: none.
   *
   * - `namespaces`: objects in `kube-system`, `kube-node-lease` and the operator's own namespace, which a match
   *   condition excludes otherwise if the API server calls a Service: the operator's own Pods could never be created
   *   again.
   * - `kinds`: Node, CSINode, Lease, TokenReview and SubjectAccessReview, which are refused otherwise: in an outage
   *   nodes and other leaders would lose their leases, and users their access.
   *
   * @see https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/
   */
  includeSystem?: readonly ('namespaces' | 'kinds')[]
  /** Selects objects by their labels, before or after the change. Users can change labels. Default: all. */
  objectSelector?: LabelSelector
  /**
   * CEL conditions, up to 62, that must all be true for the admission to be called. Default: none. Since Kubernetes
   * 1.30.
   *
   * @see https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions
   */
  matchConditions?: readonly MatchCondition[]
  /**
   * `IfNeeded`: `default` is called again if a later webhook has changed the object. Default: `Never`.
   */
  reinvocationPolicy?: 'Never' | 'IfNeeded'
  /** Whether only objects in namespaces count, or only those outside. Default: `*`, both. */
  scope?: 'Namespaced' | 'Cluster' | '*'
}

/** A condition of {@link AdmissionOptions.matchConditions}. */
export interface MatchCondition {
  /** Unique in its list: letters, digits, `-`, `_` and `.`. */
  readonly name: string
  /** CEL over `object`, `oldObject`, `request` and `authorizer`. */
  readonly expression: string
}

/** One kind that the operator admits. */
export interface AdmissionDescription {
  readonly resource: AnyResource
  /** The path on the server, such as `/validate-web-example-dev-v1-site`. */
  readonly path: string
  /** Whether the handler of the path changes objects. */
  readonly mutating: boolean
  readonly options?: AdmissionOptions | undefined
}

const SHAPE: ShapeOf<AdmissionOptions> = {
  operations: [[]],
  subresources: [[]],
  failurePolicy: ['Fail', 'Ignore'],
  sideEffects: ['None', 'NoneOnDryRun'],
  matchPolicy: ['Equivalent', 'Exact'],
  timeout: 0,
  namespaceSelector: { matchLabels: 0, matchExpressions: 0 },
  includeSystem: [[]],
  objectSelector: { matchLabels: 0, matchExpressions: 0 },
  matchConditions: [[]],
  reinvocationPolicy: ['Never', 'IfNeeded'],
  scope: ['Namespaced', 'Cluster', '*'],
}

const OPERATIONS: readonly unknown[] = ['CREATE', 'UPDATE', 'DELETE'] satisfies AdmissionOperation[]

/** Subresources that take objects of another kind than that of their resource. */
const OTHER_KINDS: readonly string[] = [
  'scale',
  'eviction',
  'binding',
  'token',
  'exec',
  'attach',
  'portforward',
  'proxy',
]

/** The API server accepts 64; two may be ours. */
const MAX_CONDITIONS = 62

/** What nodes, leaders and the access of users depend on, by group and plural. */
const SYSTEM_KINDS: readonly string[] = [
  '/nodes',
  'storage.k8s.io/csinodes',
  'coordination.k8s.io/leases',
  'authentication.k8s.io/tokenreviews',
  'authorization.k8s.io/subjectaccessreviews',
]

/** @throws TypeError if an option is unknown or invalid, or the path is. */
export function checkAdmission({ resource, path, mutating, options = {} }: AdmissionDescription): void {
  const refuse = (problem: string): never => {
    throw new TypeError(`${cannot(resource)}: ${problem}`)
  }
  if (!/^(?:\/[A-Za-z\d_-]+)+$/.test(path)) {
    refuse(`the path ${JSON.stringify(path)} must be segments of letters, digits, "-" and "_", such as "/validate-foo"`)
  }
  checkOptionNames(options, SHAPE, refuse)
  const { operations, subresources = [], matchConditions = [], timeout } = options
  if (operations) {
    if ((operations as readonly unknown[]).includes('CONNECT')) {
      refuse(
        'operations has "CONNECT", whose objects are options such as PodExecOptions, which this admission cannot get; ' +
          'use a ValidatingAdmissionPolicy, or webhooks.handleFetch with a configuration of your own',
      )
    }
    const unknown = operations.find((operation) => !OPERATIONS.includes(operation))
    if (unknown !== undefined) refuse(`operations has ${JSON.stringify(unknown)}; they are ${OPERATIONS.join(', ')}`)
    if (operations.length === 0) refuse('operations is empty; leave it out for CREATE and UPDATE')
    if (mutating && operations.every((operation) => operation === 'DELETE')) {
      refuse('default is never called for DELETE; add CREATE or UPDATE to operations, or leave default out')
    }
  }
  for (const subresource of subresources) {
    if (OTHER_KINDS.includes(subresource)) {
      refuse(`subresources has "${subresource}", whose objects are of another kind, which this admission cannot get`)
    }
    if (subresource === '*' || /^[a-z]+$/.test(subresource)) continue
    refuse(`subresources has ${JSON.stringify(subresource)}, and must have names such as "status"`)
  }
  if (timeout !== undefined) {
    const seconds = secondsOf(timeout, refuse)
    if (!Number.isInteger(seconds) || seconds < 1 || seconds > 30) {
      const given = typeof timeout === 'number' ? `${timeout} ms` : JSON.stringify(timeout)
      refuse(`timeout is ${given}, and must be whole seconds from "1s" to "30s"`)
    }
  }
  const { failurePolicy = 'Fail', includeSystem = [] } = options
  const unknown = includeSystem.find((each) => each !== 'namespaces' && each !== 'kinds')
  if (unknown !== undefined) refuse(`includeSystem has ${JSON.stringify(unknown)}; it may have "namespaces", "kinds"`)
  const isSystem = SYSTEM_KINDS.includes(`${resource.group}/${resource.plural}`)
  if (isSystem && failurePolicy === 'Fail' && !includeSystem.includes('kinds')) {
    refuse(
      `with failurePolicy "Fail" an outage of the operator would become one of the cluster, which needs ${resource.kind} ` +
        `objects to run; set failurePolicy: 'Ignore', or includeSystem: ['kinds'] to accept that`,
    )
  }
  if (matchConditions.length > MAX_CONDITIONS) {
    refuse(`matchConditions has ${matchConditions.length} conditions, more than ${MAX_CONDITIONS}`)
  }
  const seen = new Set<string>()
  for (const { name, expression } of matchConditions) {
    if (typeof expression !== 'string' || expression.trim() === '') {
      refuse(
        `the match condition ${
          JSON.stringify(name)
        } has no expression; write CEL such as 'object.metadata.name != "x"'`,
      )
    }
    if (typeof name !== 'string' || !/^[A-Za-z\d](?:[-\w.]{0,61}[A-Za-z\d])?$/.test(name)) {
      refuse(`the match condition ${JSON.stringify(name)} must have a name of letters, digits, "-", "_" and "."`)
    }
    if (seen.has(name)) refuse(`two match conditions have the name "${name}"; give each its own`)
    seen.add(name)
  }
}

function secondsOf(timeout: Duration, refuse: (problem: string) => never): number {
  try {
    return toMs(timeout) / 1000
  } catch (error) {
    return refuse(`timeout: ${messageOf(error)}`)
  }
}

/** Returns the beginning of errors about the configuration of a kind's admission. */
export function cannot({ kind }: AnyResource): string {
  return `Cannot configure the admission of ${kind}`
}
