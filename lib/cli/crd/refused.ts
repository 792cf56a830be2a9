/** Finds what an API server would refuse in definitions, with the paths of the operator's schemas. */
import type { CustomResourceDefinition, JsonSchema } from '../../core/resource.ts'
import { refuseDifferentVersions } from '../../crds/checks.ts'
import { internals, type JsonObject } from 'kubeloop/apiserver'
import { shown } from './changes.ts'

const LIMITS = 'limit the lists and strings (.max()) and the records (entries() of kubeloop/schema) that it reads'

/** Of messages about costs: the factor, and those about the sum of all rules. */
const OVER = /exceeds budget by factor of (.*?)x /
const SUM = /cost total/

/**
 * @throws Error with one line for each problem if an API server would refuse a definition. TypeError if it would drop
 * fields: the schemas of versions differ, and there is no conversion.
 */
export async function throwIfRefused(definitions: readonly CustomResourceDefinition[]): Promise<void> {
  for (const each of definitions) refuseDifferentVersions(each, each.spec.conversion?.strategy)
  const refused = (await Promise.all(definitions.map(refusals))).flat()
  if (refused.length > 0) throw new Error(`An API server would refuse these definitions:\n${refused.join('\n')}`)
}

/** Resolves with one line for each problem. Empty if a server would accept the definition. */
export async function refusals({ metadata, spec }: CustomResourceDefinition): Promise<readonly string[]> {
  const all = await internals.faultsOfVersions(spec as unknown as JsonObject)
  // A rule that costs too much alone is reported again as a part of the sum.
  const isOver = all.some(({ message }) => OVER.test(message) && !SUM.test(message))
  const causes = isOver ? all.filter(({ message }) => !SUM.test(message)) : all
  const lines = causes.map(({ field, message }) => {
    const { version, path, rest, rule } = placeOf(field, spec.versions)
    const text = costText(message, rest.includes('messageExpression')) ?? shortened(message)
    const what = rule ? `the rule ${shown(rule)} ${text}` : `${rest ? `${rest} ` : ''}${text}`
    return `${metadata.name} ${version}${path || 'the schema'}: ${what}`
  })
  return [...new Set(lines)]
}

/** Returns the place in the operator's schema that a path in the definition leads to. */
function placeOf(
  field: string,
  versions: CustomResourceDefinition['spec']['versions'],
): { readonly version: string; readonly path: string; readonly rest: string; readonly rule?: string | undefined } {
  const match = /^spec\.(?:versions\[(\d+)\]\.schema|validation)\.openAPIV3Schema/.exec(field)
  if (!match) return { version: '', path: field.replace(/^spec\./, ''), rest: '' }
  const version = versions[Number(match[1] ?? 0)]!
  let schema: JsonSchema | undefined = version.schema.openAPIV3Schema
  let path = ''
  let at = match[0].length
  for (;;) {
    const step = /^\.(?:properties\[([^\]]*)\]|(items)|(additionalProperties))/.exec(field.slice(at))
    if (!step) break
    at += step[0].length
    path += step[1] !== undefined ? `${path && '.'}${step[1]}` : step[2] ? '[]' : '{}'
    const below: unknown = step[1] !== undefined
      ? (schema?.['properties'] as Readonly<Record<string, JsonSchema>> | undefined)?.[step[1]]
      : schema?.[step[2] ?? step[3]!]
    schema = below as JsonSchema | undefined
  }
  const rest = field.slice(at).replace(/^\./, '')
  const index = /^x-kubernetes-validations\[(\d+)\]/.exec(rest)?.[1]
  const rules = schema?.['x-kubernetes-validations'] as readonly { readonly rule?: string }[] | undefined
  const isShared = match[1] === undefined && versions.length > 1
  return {
    version: isShared ? '' : `${version.name} `,
    path,
    rest,
    rule: index === undefined ? undefined : rules?.[Number(index)]?.rule,
  }
}

function costText(message: string, isMessage: boolean): string | undefined {
  const over = OVER.exec(message)?.[1]
  if (SUM.test(message) && over) {
    return `all rules together cost ${over} times what an API server allows for a definition; ${LIMITS}`
  }
  if (over) {
    const costs = isMessage ? 'has a messageExpression that costs' : 'costs'
    return `${costs} ${over} times what an API server allows; ${LIMITS}`
  }
  return SUM.test(message) ? 'costs a large part of what an API server allows' : undefined
}

/** Returns the first line of a message, without the value, which repeats the rule. */
function shortened(message: string): string {
  const [first = ''] = message.replace(/^(?:Invalid value|Forbidden): (?:\{.*?\}: )?/s, '').split('\n')
  return `is refused: ${first.replace(/ERROR: <input>:\d+:\d+: /, '')}`
}
