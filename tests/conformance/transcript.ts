/** Runs scripts of requests and renders the answers as text that is equal on every server. */
import assert from 'node:assert/strict'
import { type Answer, type Api, APPLY, type Body, type Case, JSON_PATCH, MERGE, STRATEGIC } from './api.ts'

/** Options of a step. */
interface StepOptions {
  readonly type?: string
  readonly accept?: string
  readonly userAgent?: string
}

/** A body, or a function that makes it from the bodies of the steps before. */
type StepBody = Body | ((answers: readonly Body[]) => Body)

/**
 * One request and its answer. The line is `METHOD path`, followed by what the answer must show of the body: `?` and
 * paths, such as `GET cm/a ? data metadata.labels`. Paths begin with a short name (see {@link pathOf}) or a slash.
 * `{0.metadata.uid}` inserts a value of the first step's body, `{-1.…}` of the previous one's. The method APPLY,
 * MERGE, JSON and STRATEGIC are patches; `WATCH n path` reads n events, `WATCH name path`
 * those up to an object of that name.
 */
export type Step = readonly [line: string, answer: string, body?: StepBody, options?: StepOptions]

/** A script with the answers of a real server. */
export interface Script {
  readonly name: string
  /** Prepares the server. Resolves with names that stand in braces in lines, bodies and answers. */
  readonly setup?: (api: Api) => Promise<Readonly<Record<string, string>>>
  readonly steps: readonly Step[]
  readonly skip?: Case['skip']
}

/** Returns the case of a script. */
export function scriptCase({ name, setup, steps, skip }: Script): Case {
  return {
    name,
    ...(skip && { skip }),
    async run(api) {
      const answers: Body[] = []
      const names = await setup?.(api) ?? {}
      for (const [line, expected, body, options] of steps) {
        const { text, answer } = await runStep(api, line, body, options, answers, names)
        assert.equal(text, expected, `${line}: ${JSON.stringify(answer)}`)
        answers.push(answer)
      }
    },
  }
}

/** A ConfigMap; a namespace or the group of the custom kind in a body is written `{ns}` and `{group}`. */
export function cm(name: string, data: unknown = { k: 'v' }, metadata: Record<string, unknown> = {}): Body {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data }
}

export function foo(name: string, spec: unknown = { size: 1 }, metadata: Record<string, unknown> = {}): Body {
  return { apiVersion: '{group}/v1', kind: 'Foo', metadata: { name, ...metadata }, spec }
}

export function deploy(name: string, spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}): Body {
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'nginx' }] } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, ...metadata },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  }
}

const PATCHES: Readonly<Record<string, string>> = { APPLY, MERGE, JSON: JSON_PATCH, STRATEGIC }

/** Runs one step. Returns its text and the body of the answer; for a watch, the events. */
export async function runStep(
  api: Api,
  line: string,
  body: StepBody,
  options: StepOptions | undefined,
  answers: readonly Body[],
  names: Readonly<Record<string, string>> = {},
): Promise<{ text: string; answer: Body; full: string }> {
  const all = { ns: api.namespace, group: api.group, ...names }
  const [request = '', picks = ''] = line.split(' ? ')
  const [method = '', ...rest] = request.split(' ')
  if (method === 'WATCH') {
    return watchStep(api, rest[0]!, pathOf(api, rest[1]!, answers, all), picks, all, options?.accept)
  }
  const path = pathOf(api, rest.join(' '), answers, all)
  const given = typeof body === 'function' ? body(answers) : body
  const text = given === undefined ? undefined : filled(all, typeof given === 'string' ? given : JSON.stringify(given))
  const type = PATCHES[method]
  const answer = await api.request(type ? 'PATCH' : method as 'GET', path, text, { ...(type && { type }), ...options })
  return {
    text: neutral(all, render(answer, picks)),
    answer: answer.body,
    full: neutral(
      all,
      answer.body.kind === 'Status'
        ? render(answer, '')
        : `${answer.status} ${stable(answer.body)}${warningsOf(answer)}`,
    ),
  }
}

async function watchStep(
  api: Api,
  end: string,
  path: string,
  picks: string,
  all: Names,
  accept: string | undefined,
): ReturnType<typeof runStep> {
  const watch = await api.watch(path, '', accept)
  const events: Body[] = []
  const isEnd = (): boolean => /^\d+$/.test(end) ? events.length >= Number(end) : nameOf(events.at(-1)) === end
  while (!isEnd()) {
    const event = await watch.next()
    if (!event) break
    events.push(event)
  }
  watch.cancel()
  const text = events.map(({ type, object }) => `${type} ${shown(object, picks)}`).join('; ')
  return { text: neutral(all, text), answer: events, full: neutral(all, events.map(stable).join('\n')) }
}

function nameOf(event: Body): string | undefined {
  return event?.object.metadata?.name
}

/** Returns the path of a line: its first segment is a short name. */
function pathOf(api: Api, path: string, answers: readonly Body[], names: Names): string {
  const places: Readonly<Record<string, string>> = {
    cm: api.configMaps,
    foos: api.foos,
    foos2: api.foos.replace('/v1/', '/v2/'),
    deploy: api.deployments,
    leases: api.leases,
    ns: `/api/v1/namespaces/${api.namespace}`,
  }
  const values = path.replace(
    /\{(-?\d+)\.([^}]+)\}/g,
    (_, index: string, keys: string) => encodeURIComponent(String(at(answers.at(Number(index)), keys))),
  )
  const [, first = '', others = ''] = /^([^/?]*)(.*)$/s.exec(filled(names, values))!
  return `${places[first] ?? first}${others}`
}

type Names = Readonly<Record<string, string>>

function filled(names: Names, text: string): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => names[name] ?? whole)
}

function at(value: Body, path: string): Body {
  return path.split('.').reduce((current, key) => current?.[key], value)
}

/** Replaces what differs between runs. */
function neutral(names: Names, text: string): string {
  const named = Object.entries(names).reduce((all, [name, value]) => all.replaceAll(value, `{${name}}`), text)
  return named
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, '{uid}')
    .replace(/(current: |ResourceVersion: |resource version: |in record \(|in the precondition \()\d+/g, '$1{rv}')
    // The error of a strict patch shows the object; the order of its fields is Go's.
    .replace(/(patch Invalid value: )"\{.*\}": /gs, '$1{object}: ')
    // The five random letters of a generated name: scripts give such names a base with `gen`.
    .replace(/(gen[^a-z]?)[bcdfghjklmnpqrstvwxz2456789]{5}/gi, '$1{random}')
    .replace(/("resourceVersion":")\d+/g, '$1{rv}')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '{time}')
}

function render(answer: Answer, picks: string): string {
  const { status, body } = answer
  return `${status} ${typeof body === 'string' ? body.trim() : shown(body, picks)}${warningsOf(answer)}`
}

function warningsOf({ headers }: Answer): string {
  const { warning } = headers
  return warning ? ` warnings: ${warning.replace(/299 - /g, '').replace(/\\"/g, "'")}` : ''
}

function shown(body: Body, picks: string): string {
  if (picks) {
    return picks.split(' ').map((path) => {
      const value = at(body, path)
      return stable(path.endsWith('managedFields') && Array.isArray(value) ? asInOneSecond(value) : value) || '-'
    }).join(' ')
  }
  if (body.kind === 'Status') return statusText(body)
  if (Array.isArray(body.items)) {
    const { remainingItemCount: left, continue: next } = body.metadata
    const names = body.items.map((each: Body) => each.metadata.name)
    return [`${body.kind} [${names}]`, next && 'continue', left && `remaining ${left}`].filter(Boolean).join(' ')
  }
  return `${body.kind} ${body.metadata?.name ?? ''}`.trim()
}

/**
 * Returns managedFields as the server orders those of one second: otherwise the order depends on when the second ends.
 */
function asInOneSecond(entries: readonly Body[]): Body[] {
  const keyOf = ({ operation, time, manager, apiVersion, subresource = '' }: Body): string =>
    [operation, time ? 1 : 0, manager, apiVersion, subresource].join('\n')
  return entries.toSorted((a, b) => keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0)
}

/**
 * Renders a Status. The causes are sorted, because the real server checks the fields of custom objects in random
 * order, and stand for the rest of the message, if that is their list.
 */
function statusText({ status, reason, message = '', details = {} }: Body): string {
  const { causes = [], ...rest } = details
  const lines: string[] = causes.map(({ field, message: text }: Body) => `${field}: ${text}`)
  const unique = [...new Set(lines)]
  const list = ` is invalid: ${unique.length === 1 ? unique[0] : `[${unique.join(', ')}]`}`
  const isListed = reason === 'Invalid' && message.endsWith(list)
  const parts = [
    status === 'Success' ? 'Success' : `${reason ?? ''}: ${isListed ? message.slice(0, -list.length) : message}`,
  ]
  if (Object.keys(rest).length > 0) parts.push(Object.values(rest).join(' '))
  // How often the same cause is repeated depends on the kind.
  for (const [index, cause] of causes.toSorted(byField).entries()) {
    if (causes.toSorted(byField).findIndex((each: Body) => byField(each, cause) === 0) < index) continue
    const { field, reason: why, message: text = '' } = cause
    parts.push([why, field, !isListed && message.includes(text) ? '' : text].filter(Boolean).join(' '))
  }
  return parts.join(' | ')
}

function byField(a: Body, b: Body): number {
  const [left, right] = [a, b].map(({ field, message }) => `${field}: ${message}`)
  return left! < right! ? -1 : left! > right! ? 1 : 0
}

/** Returns the JSON of a body with sorted fields, without values that differ between runs. */
function stable(body: Body): string {
  return JSON.stringify(body, (key, value) => {
    if ((key === 'resourceVersion' || key === 'uid') && typeof value === 'string') return value === '' ? '' : '*'
    if (key === 'continue' && value) return '*'
    if (key === 'managedFields' && Array.isArray(value)) return value.map(stable).sort()
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1))
  }) ?? ''
}
