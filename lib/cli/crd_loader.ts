/** Loads a file for `kubeloop crd` in the operator's runtime, and prints the definitions of its kinds. */
import { messageOf } from '../core/errors.ts'
import type { AnyResource } from '../core/resource.ts'
import { compileErrors, placeOfError } from '../observe/stack.ts'
import { readDescribed } from '../operator/tool_hooks.ts'
import { type OperatorDescription, usedResources } from '../operator/description.ts'
import type { WebhookDefinitions } from '../operator/webhooks.ts'
import { optionalEnv } from '../runtime/os/env.ts'
import { exitProcess } from '../runtime/os/signals.ts'
import { placeLine, writeLine } from '../runtime/os/terminal.ts'
import { programArguments } from '../runtime/os/this_runtime.ts'
import { crdOf } from '../schema/crds.ts'

/** The URL of this program. In the built package, the bundler chooses its name. */
export const loaderUrl: string = import.meta.url

/** Precedes the JSON of the result on its line of standard output. */
export const RESULT = 'kubeloop-crd:'

/** The namespace of the operator's Service, if it is stated. */
export const NAMESPACE = 'KUBELOOP_CRD_NAMESPACE'

export type LoadResult =
  | { readonly definitions: readonly object[]; readonly notes: readonly string[] }
  | { readonly error: string }

// Set only in the process that loads the file: the command itself imports this module for its URL.
const title = optionalEnv('KUBELOOP_CRD')
if (title !== undefined) await printDefinitions(title, programArguments()[0]!)

async function printDefinitions(file: string, url: string): Promise<void> {
  const operators: OperatorDescription[] = []
  readDescribed((description) => operators.push(description))
  let result: LoadResult
  try {
    result = await resultOf(file, Object.values((await import(url)) as Record<string, unknown>), operators)
  } catch (error) {
    result = { error: compileErrors(error).map((each) => failure(file, each)).join('\n') }
  }
  writeLine(`\n${RESULT}${JSON.stringify(result)}`)
  // The file may hold resources open, so end the process.
  exitProcess(0)
}

async function resultOf(
  file: string,
  exported: readonly unknown[],
  operators: readonly OperatorDescription[],
): Promise<LoadResult> {
  const webhooks = await webhooksOf(operators)
  const ofOperators = operators.flatMap((each) =>
    [undefined, ...each.clusters].flatMap((cluster) => usedResources(each, cluster))
  )
  const crds = crdOf([...exported.filter(isDefined), ...ofOperators], {
    conversions: operators.flatMap(({ conversions }) => conversions),
    conversion: webhooks.find(({ conversion }) => conversion)?.conversion,
  })
  const definitions = [...crds, ...webhooks.flatMap(({ configurations }) => configurations)]
  if (definitions.length > 0) return { definitions, notes: webhooks.flatMap(({ note }) => note ?? []) }
  const why = 'it exports no kind of defineResource, and has no operator for one'
  return { error: `Cannot print the CustomResourceDefinitions of ${file}: ${why}` }
}

/** Returns the webhooks of operators, with a note where the namespace of a Service was not stated. */
async function webhooksOf(
  operators: readonly OperatorDescription[],
): Promise<(WebhookDefinitions & { readonly note: string | undefined })[]> {
  const some = operators.filter(({ admissions, conversions }) => admissions.length + conversions.length > 0)
  if (some.length === 0) return []
  const { describeWebhooks } = await import('../operator/webhooks.ts')
  const stated = optionalEnv(NAMESPACE)
  return some.map((each) => {
    const described = describeWebhooks(each, stated ?? 'default')
    const { service } = each.options.webhooks ?? {}
    const isKnown = stated !== undefined || 'url' in described.target ||
      (typeof service === 'object' && service.namespace !== undefined)
    const note = `The API server calls the Service "default/${
      'service' in described.target ? described.target.service.name : ''
    }": give --namespace if it is in another namespace`
    return { ...described, note: isKnown ? undefined : note }
  })
}

function isDefined(value: unknown): value is AnyResource {
  return typeof value === 'object' && value !== null && (value as Partial<AnyResource>).definition?.crd !== undefined
}

function failure(file: string, error: unknown): string {
  const place = placeOfError(error)
  return `Cannot load ${file}: ${messageOf(error).split('\n')[0]}${place ? `\n${placeLine(place)}` : ''}`
}
