/** Loads a file in the operator's runtime, and prints what `kubeloop crd` or `kubeloop manifests` requests of it. */
import { messageOf } from '../core/errors.ts'
import type { AnyResource } from '../core/resource.ts'
import { systemClock } from '../async/clock.ts'
import { compileErrors, placeOfError } from '../observe/stack.ts'
import { readDescribed } from '../operator/tool_hooks.ts'
import { hasWebhooks, type OperatorDescription, ownKinds } from '../operator/description.ts'
import type { WebhookDefinitions } from '../operator/webhooks.ts'
import { optionalEnv } from '../runtime/os/env.ts'
import { exitProcess } from '../runtime/os/signals.ts'
import { placeLine } from '../runtime/os/source_place.ts'
import { writeLine } from '../runtime/os/terminal.ts'
import { programArguments } from '../runtime/os/this_runtime.ts'
import { crdOf } from '../schema/crds.ts'
import type { BuildFacts } from './build/bundle.ts'
import { type DeployOptions, namespaceOf } from './deploy/options.ts'
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
 * that it uses.
 */
export type LoadRequest =
  | { readonly kind: 'definitions'; readonly namespace?: string }
  | { readonly kind: 'deployment'; readonly options: DeployOptions }
  | { readonly kind: 'rights'; readonly options: RightsRequest }
  | { readonly kind: 'build' }

/** The request with the file, as the user wrote it, and how long its import may take. */
export type FileRequest = LoadRequest & { readonly file: string; readonly limitMs: number }

export type LoadResult =
  | { readonly objects: readonly object[]; readonly notes: readonly string[] }
  | { readonly error: string }

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
    result = request.kind === 'deployment'
      ? await deployment(file, operators, request.options, url)
      : request.kind === 'rights'
      ? await rights(file, operators, request.options, url)
      : request.kind === 'build'
      ? buildFacts(file, operators)
      : await definitionsOf(file, exported, operators, request.namespace)
  } catch (error) {
    result = { error: compileErrors(error).map((each) => failure(file, each, isImported)).join('\n') }
  }
  writeLine(`\n${RESULT}${JSON.stringify(result)}`)
  // The file may hold resources open, so end the process.
  exitProcess(0)
}

async function definitionsOf(
  file: string,
  exported: readonly unknown[],
  operators: readonly OperatorDescription[],
  namespace: string | undefined,
): Promise<LoadResult> {
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
  return { error: `Cannot print the CustomResourceDefinitions of ${file}: ${why}` }
}

async function deployment(
  file: string,
  operators: readonly OperatorDescription[],
  options: DeployOptions,
  url: string,
): Promise<LoadResult> {
  const operator = onlyOperator(`Cannot write manifests of ${file}`, operators)
  if ('error' in operator) return operator
  const { describeDeployment } = await import('./deploy/describe.ts')
  return await describeDeployment(operator, options, url)
}

async function rights(
  file: string,
  operators: readonly OperatorDescription[],
  options: RightsRequest,
  url: string,
): Promise<LoadResult> {
  const operator = onlyOperator(`Cannot compute the rights of ${file}`, operators)
  if ('error' in operator) return operator
  return await (await import('./rights/answer.ts')).rightsAnswer(operator, options, url)
}

function buildFacts(file: string, operators: readonly OperatorDescription[]): LoadResult {
  const operator = onlyOperator(`Cannot build ${file}`, operators)
  if ('error' in operator) return operator
  const { name, metrics, profiling, tracing } = operator.options
  const facts: BuildFacts = {
    name,
    webhooks: hasWebhooks(operator),
    metrics: metrics !== undefined,
    metricsOverTls: typeof metrics === 'object' && Boolean(metrics.tls),
    profiling: profiling !== undefined,
    tracing: tracing === true,
    schedules: operator.tasks.some(({ schedule }) => schedule),
  }
  return { objects: [facts], notes: [] }
}

function onlyOperator(
  cannot: string,
  operators: readonly OperatorDescription[],
): OperatorDescription | { readonly error: string } {
  const [operator, other] = operators
  if (!operator) return { error: `${cannot}: it calls no operator()` }
  if (!other) return operator
  const names = operators.map((each) => `"${each.options.name}"`).join(' and ')
  return { error: `${cannot}: it has the operators ${names}; write one file for each` }
}

/** Returns the webhooks of operators, with a note where the namespace of a Service was not stated. */
async function webhooksOf(
  operators: readonly OperatorDescription[],
  stated: string | undefined,
): Promise<(WebhookDefinitions & { readonly note: string | undefined })[]> {
  const some = operators.filter(({ admissions, conversions }) => admissions.length + conversions.length > 0)
  if (some.length === 0) return []
  const { describeWebhooks } = await import('../operator/webhooks.ts')
  return some.map((each) => {
    const namespace = namespaceOf(each, { namespace: stated })
    const described = describeWebhooks(each, namespace)
    const { service } = each.options.webhooks ?? {}
    const isKnown = stated !== undefined || 'url' in described.target ||
      (typeof service === 'object' && service.namespace !== undefined)
    const note = `The API server calls the Service "${namespace}/${
      'service' in described.target ? described.target.service.name : ''
    }": give --namespace if it is in another namespace`
    return { ...described, note: isKnown ? undefined : note }
  })
}

function isDefined(value: unknown): value is AnyResource {
  return typeof value === 'object' && value !== null && (value as Partial<AnyResource>).definition?.crd !== undefined
}

/** Rejects if the file waits longer at its top level, where it could connect to a cluster. */
async function imported(url: string, limitMs: number): Promise<Record<string, unknown>> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const stop = systemClock.after(limitMs, () =>
    reject(
      new Error(
        `it still waits at its top level after ${
          limitMs / 1000
        } s; a file that describes an operator must not wait for ` +
          'a cluster or the network: connect in a reconcile, or in a task of app.add()',
      ),
    ))
  try {
    return await Promise.race([import(url) as Promise<Record<string, unknown>>, late])
  } finally {
    stop()
  }
}

function failure(file: string, error: unknown, isImported: boolean): string {
  const [message = ''] = messageOf(error).split('\n')
  const place = placeOfError(error)
  // What is wrong with a description or a record says what cannot be done.
  if (isImported && message.startsWith('Cannot ')) return message
  const hint = /import statement outside a module/.test(message)
    ? '; set "type": "module" in package.json: npm pkg set type=module'
    : ''
  return `Cannot load ${file}: ${message}${hint}${place ? `\n${placeLine(place)}` : ''}`
}
