/** Cases of built-in kinds: whole answers are recorded. */
import assert from 'node:assert/strict'
import type { HttpRequest } from '../../../lib/core/transport.ts'
import type { Api, Body, Case } from '../api.ts'
import { lineOf, recordedCase } from '../recording.ts'
import { statusText } from '../transcript.ts'

/** Requests whose answers are compared. `{ns}` in paths and bodies is the namespace of the case. */
export interface Scenario {
  readonly name: string
  readonly steps: readonly Step[]
  /** Changes an answer before it is compared. */
  readonly look?: (body: Body) => Body
}

export interface Step {
  readonly method: HttpRequest['method']
  readonly path: string
  readonly body?: unknown
  readonly type?: string
  readonly accept?: string
  /** Whether the answer is not compared. */
  readonly quiet?: boolean
}

export function casesOf(scenarios: readonly Scenario[]): readonly Case[] {
  return scenarios.map((each) => recordedCase('kinds', each.name, (api) => play(api, each)))
}

/** Sends the requests and yields their answers in comparable form. */
async function* play(api: Api, { steps, look }: Scenario): AsyncGenerator<string> {
  for (const { method, path, body, type, accept, quiet } of steps) {
    const text = body === undefined
      ? undefined
      : inNamespace(typeof body === 'string' ? body : JSON.stringify(body), api)
    const answer = await api.request(method, inNamespace(path, api), text, {
      ...(type && { type }),
      ...(accept && { accept }),
    })
    if (quiet) assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`)
    else {
      const text = answer.status < 400
        ? JSON.stringify(comparable(look ? look(answer.body) : answer.body, api))
        : statusText(comparable(answer.body, api))
      yield lineOf(`${method} ${path}`, `${answer.status} ${text}`)
    }
  }
}

const inNamespace = (text: string, { namespace }: Api): string => text.replaceAll('{ns}', namespace)

/** The fields that differ between servers and runs; the embedded API has no hashes of stored versions. */
const VOLATILE: readonly string[] = [
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'managedFields',
  'storageVersionHash',
]

/** What only the controllers of a whole cluster remove again, so that the embedded server does not set it. */
const isForControllers = (item: Body): boolean =>
  /^kubernetes\.io\/(pvc|pv|vac)-protection$/.test(item) ||
  item?.key === 'node.kubernetes.io/not-ready' && !item.operator

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID'],
  [/\b10\.\d+\.\d+\.\d+\b/g, 'IP'],
  [/\b(envtest-admin|kubernetes-admin)\b/g, 'ADMIN'],
  [/:3[0-2]\d{3}\//g, ':PORT/'],
]

/** Returns a copy without what differs between servers and runs: names, times, uids, addresses. */
function comparable(value: Body, api: Api): Body {
  if (Array.isArray(value)) {
    return value.filter((item) => !isForControllers(item)).map((item) => comparable(item, api))
  }
  if (typeof value === 'string') {
    const text = value.replaceAll(api.namespace, '{ns}')
    return PATTERNS.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text)
  }
  if (typeof value !== 'object' || value === null) return value
  const result: Body = {}
  for (const [name, child] of Object.entries<Body>(value).sort(([a], [b]) => a < b ? -1 : 1)) {
    if (child === undefined || name === 'managedFields') continue
    if (VOLATILE.includes(name) && typeof child !== 'object') continue
    if (Array.isArray(child) && child.length > 0 && child.every(isForControllers)) continue
    if (name === 'nodePort' || name === 'healthCheckNodePort') result[name] = 'PORT'
    else result[name.replaceAll(api.namespace, '{ns}')] = comparable(child, api)
  }
  return result
}
