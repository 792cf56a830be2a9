/** Loads a file in the operator's runtime, and prints what `kubeloop crd` or `kubeloop manifests` requests of it. */
import { messageOf } from '../core/errors.ts'
import type { AnyResource } from '../core/resource.ts'
import { isInTime, systemClock } from '../async/clock.ts'
import { compileErrors, placeOfError } from '../observe/error_place.ts'
import { userFrames } from '../observe/stack.ts'
import { denoFlagsOf } from '../operator/run/permissions.ts'
import { readDescribed } from '../operator/run/tool_hooks.ts'
import { hasWebhooks, type OperatorDescription } from '../operator/description/description.ts'
import { ownKinds } from '../operator/description/used_kinds.ts'
import type { WebhookDefinitions } from '../operator/webhooks/describe.ts'
import { optionalEnv } from '../runtime/os/env.ts'
import { exitProcess } from '../runtime/os/signals.ts'
import { placeLine } from '../runtime/os/source_place.ts'
import { writeLine } from '../runtime/os/terminal.ts'
import { programArguments } from '../runtime/os/this_runtime.ts'
import { namespaceOf } from '../rights/account.ts'
import { crdOf } from '../schema/crds.ts'
import type { BuildFacts } from './build/bundle.ts'
import type { DeployOptions } from './deploy/options.ts'
import type { PlanRequest } from './plan/run.ts'
import type { RightsRequest } from './rights/answer.ts'

/** The URL of this program. In the built package, the bundler chooses its name. */
export const loaderUrl: string = import.meta.url

/** Precedes the JSON of the result on its line of standard output. */
export const RESULT = 'kubeloop-load:'

/** The environment variable with the request. */
export const REQUEST = 'KUBELOOP_LOAD'

/**
 * `definitions`: of the file's kinds, and webhook configurations. `deployment`: all objects of its operator. `rights`:
 * its roles, or one object with what a written role lacks and exceeds. `build`: the name of its operator and the parts
 * that it uses. `plan`: what it would do in a cluster.
 */
export type LoadRequest =
  | { readonly kind: 'definitions'; readonly namespace?: string }
  | { readonly kind: 'deployment'; readonly options: DeployOptions }
  | { readonly kind: 'rights'; readonly options: RightsRequest }
  | { readonly kind: 'build' }
  | { readonly kind: 'plan'; readonly options: PlanRequest }

/** The request with the file, as the user wrote it, and how long its import may take. */
export type FileRequest = LoadRequest & { readonly file: string; readonly limitMs: number }

interface LoadAnswer {
  readonly objects: readonly object[]
  readonly notes: readonly string[]
}

export type LoadResult = LoadAnswer | { readonly error: string }

// Set only in the process that loads the file: the command itself imports this module for its URL.
const requested = optionalEnv(REQUEST)
if (requested !== undefined) {
  await answer(JSON.parse(requested) as FileRequest, programArguments()[0]!)
}

async function answer(request: FileRequest, url: string): Promise<void> {
  const { file } = request
  const operators: OperatorDescription[] = []
  readDescribed((description) => operators.push(description))
  let result: LoadResult
  let isImported = false
  try {
    const exported = Object.values(await imported(url, request.limitMs))
    isImported = true
    result = await answerTo(request, exported, operators, url)
  } catch (error) {
    result = { error: compileErrors(error).map((each) => failure(file, each, isImported)).join('\n') }
  }
  writeLine(`\n${RESULT}${JSON.stringify(result)}`)
  // The file may hold resources open, so end the process.
  exitProcess(0)
}

async function answerTo(
  request: FileRequest,
  exported: readonly unknown[],
  operators: readonly OperatorDescription[],
  url: string,
): Promise<LoadAnswer> {
  const { file } = request
  switch (request.kind) {
    case 'definitions':
      return await definitionsOf(file, exported, operators, request.namespace)
    case 'deployment': {
      const operator = onlyOperator(`Cannot write manifests of ${file}`, operators)
      return await (await import('./deploy/objects.ts')).describeDeployment(operator, request.options, url)
    }
    case 'rights': {
      const operator = onlyOperator(`Cannot compute the rights of ${file}`, operators)
      return await (await import('./rights/answer.ts')).rightsAnswer(operator, request.options, url)
    }
    case 'plan': {
      const operator = onlyOperator(`Cannot plan ${file}`, operators)
      return await (await import('./plan/run.ts')).planAnswer(operator, exported, request.options)
    }
    case 'build':
      return { objects: [buildFacts(onlyOperator(`Cannot build ${file}`, operators))], notes: [] }
  }
}

/** @throws Error if the file has no kind. */
async function definitionsOf(
  file: string,
  exported: readonly unknown[],
  operators: readonly OperatorDescription[],
  namespace: string | undefined,
): Promise<LoadAnswer> {
  const webhooks = await webhooksOf(operators, namespace)
  const ofOperators = operators.flatMap((each) =>
    [undefined, ...each.clusters].flatMap((cluster) => ownKinds(each, cluster))
  )
  const crds = crdOf([...exported.filter(isDefined), ...ofOperators], {
    conversions: operators.flatMap(({ conversions }) => conversions),
    conversion: webhooks.find(({ conversion }) => conversion)?.conversion,
  })
  const objects = [...crds, ...webhooks.flatMap(({ configurations }) => configurations)]
  if (objects.length > 0) return { objects, notes: webhooks.flatMap(({ note }) => note ?? []) }
  const why = 'it exports no kind of defineResource, and has no operator for one'
  throw new Error(`Cannot print the CustomResourceDefinitions of ${file}: ${why}`)
}

function buildFacts(operator: OperatorDescription): BuildFacts {
  const { name, metrics, profiling, tracing } = operator.options
  return {
    name,
    denoFlags: denoFlagsOf(operator),
    webhooks: hasWebhooks(operator),
    metrics: metrics !== undefined,
    metricsOverTls: typeof metrics === 'object' && Boolean(metrics.tls),
    profiling: profiling !== undefined,
    tracing: tracing === true,
    schedules: operator.tasks.some(({ schedule }) => schedule),
    compact: operator.caches.some(({ options }) => options.compact),
    sharding: operator.options.sharding !== undefined,
  }
}

/** @throws Error if there is none, or another one. */
function onlyOperator(cannot: string, [operator, ...others]: readonly OperatorDescription[]): OperatorDescription {
  if (!operator) throw new Error(`${cannot}: it calls no operator()`)
  if (others.length === 0) return operator
  const names = [operator, others[0]!].map((each) => `"${each.options.name}"`).join(' and ')
  throw new Error(`${cannot}: it has the operators ${names}; write one file for each`)
}

/** Returns the webhooks of operators, with a note where the namespace of a Service was not stated. */
async function webhooksOf(
  operators: readonly OperatorDescription[],
  stated: string | undefined,
): Promise<(WebhookDefinitions & { readonly note: string | undefined })[]> {
  const some = operators.filter(({ admissions, conversions }) => admissions.length + conversions.length > 0)
  if (some.length === 0) return []
  const { describeWebhooks } = await import('../operator/webhooks/describe.ts')
  return some.map((each) => {
    const namespace = namespaceOf(each, { namespace: stated })
    const described = describeWebhooks(each, namespace)
    const { service } = each.options.webhooks ?? {}
    const isKnown = stated !== undefined || 'url' in described.target ||
      (typeof service === 'object' && service.namespace !== undefined)
    const called = 'service' in described.target ? described.target.service.name : ''
    const note =
      `The API server calls the Service "${namespace}/${called}": give --namespace if it is in another namespace`
    return { ...described, note: isKnown ? undefined : note }
  })
}

function isDefined(value: unknown): value is AnyResource {
  return typeof value === 'object' && value !== null && (value as Partial<AnyResource>).definition?.crd !== undefined
}

/** Rejects if the file waits longer at its top level, where it could connect to a cluster. */
async function imported(url: string, limitMs: number): Promise<Record<string, unknown>> {
  const loading = import(url) as Promise<Record<string, unknown>>
  if (await isInTime(systemClock, limitMs, loading)) return await loading
  throw new Error(
    `it still waits at its top level after ${limitMs / 1000} s; a file that describes an operator must not wait for ` +
      'a cluster or the network: connect in a reconcile, or in a task of app.add()',
  )
}

function failure(file: string, error: unknown, isImported: boolean): string {
  const [message = ''] = messageOf(error).split('\n')
  const place = placeOfError(error, userFrames)
  // What is wrong with a description or a record says what cannot be done.
  if (isImported && message.startsWith('Cannot ')) return message
  const hint = /import statement outside a module/.test(message)
    ? '; set "type": "module" in package.json: npm pkg set type=module'
    : ''
  return `Cannot load ${file}: ${message}${hint}${place ? `\n${placeLine(place)}` : ''}`
}
