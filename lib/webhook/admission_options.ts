/** The options of an admission: which requests the API server sends to it. */
import { type Duration, toMs } from '../core/duration.ts'
import { messageOf } from '../core/errors.ts'
import { checkOptionNames, type ShapeOf } from '../core/option_names.ts'
import type { AnyResource } from '../core/resource.ts'
import type { LabelSelector } from '../core/selectors.ts'

/** What a request does to an object. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

/**
 * Which requests the API server sends to an admission, and what happens if the admission cannot be called. The defaults
 * are those of the API, except where noted.
 *
 * @see https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/validating-webhook-configuration-v1/
 */
export interface AdmissionOptions {
  /**
   * Default: CREATE and UPDATE. Add DELETE for a `validate` that protects objects from deletion; `default` is never
   * called for it. CONNECT is for subresources such as `exec` of a Pod.
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
  /**
   * Selects objects by the labels of their namespaces. Default: all. For built-in kinds with `failurePolicy: 'Fail'`
   * called through a Service: all but `kube-system` and the operator's own, because without a running operator its own
   * Pods could never be created again.
   *
   * @see https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/
   */
  namespaceSelector?: LabelSelector
  /** Selects objects by their labels, before or after the change. Users can change labels. Default: all. */
  objectSelector?: LabelSelector
  /**
   * CEL conditions, up to 64, that must all be true for the admission to be called. Default: none. Since Kubernetes
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
  objectSelector: { matchLabels: 0, matchExpressions: 0 },
  matchConditions: [[]],
  reinvocationPolicy: ['Never', 'IfNeeded'],
  scope: ['Namespaced', 'Cluster', '*'],
}

const OPERATIONS: readonly unknown[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] satisfies AdmissionOperation[]

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

const MAX_CONDITIONS = 64

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
