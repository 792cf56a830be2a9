/** Compares two servers with random requests: each must get the same answer from both. */
import assert from 'node:assert/strict'
import { type Api, type Body } from './api.ts'
import { runStep, type StepBody } from './transcript.ts'

/** Returns a source of random integers below a limit (mulberry32). */
function randomSource(seed: number): (limit: number) => number {
  let state = seed >>> 0
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
}

const NAMES = ['a', 'b', 'c']
const ODD = [null, 5, 'x', true, [], {}, [{}], '', -1, 1.5, ['a', 'a'], { a: 'b' }]

/** The fields of a kind with values that are mostly valid. */
const FIELDS: Readonly<Record<string, readonly (readonly [path: string, values: readonly unknown[]])[]>> = {
  cm: [
    ['data', [{ k: 'v' }, { k: 'w', l: '1' }, {}, { 'a b': 'c' }]],
    ['data.k', ['v', 'w', '']],
    ['data.l', ['1', '2']],
    ['binaryData', [{ b: 'eA==' }, {}]],
    ['immutable', [false]],
  ],
  foos: [
    ['spec', [{ size: 1 }, { size: 2, mode: 'slow' }, {}]],
    ['spec.size', [1, 2, 3, 99]],
    ['spec.mode', ['fast', 'slow', 'none']],
    ['spec.name', ['abc', 'abd', 'X']],
    ['spec.tags', [['a'], ['a', 'b'], ['b', 'c'], []]],
    ['spec.plain', [['x'], ['y', 'z'], []]],
    ['spec.parts', [[{ name: 'p', value: 1 }], [{ name: 'p', value: 2 }, { name: 'q' }], [{
      name: 'q',
      protocol: 'UDP',
    }], []]],
    ['spec.labels', [{ a: '1' }, { b: '2' }, {}]],
    ['spec.labels.a', ['1', '2']],
    ['spec.free', [{ any: 1 }, { any: { thing: [1] } }]],
    ['spec.nested.deep', [1, 2]],
    ['spec.optional', ['x', null]],
    ['spec.when', ['2020-01-01T00:00:00Z']],
    ['spec.port', [80, 'http']],
    ['status', [{ ready: 1 }, { ready: 2, conditions: [{ type: 'A', status: 'True' }] }]],
    ['odd', [1]],
  ],
  deploy: [
    ['spec.replicas', [0, 1, 2, 5]],
    ['spec.paused', [true, false]],
    ['spec.minReadySeconds', [0, 5]],
    ['spec.strategy', [{ type: 'Recreate' }, { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } }]],
    ['spec.template.spec.containers', [
      [{ name: 'main', image: 'nginx:2' }],
      [{ name: 'main', image: 'nginx', env: [{ name: 'A', value: '1' }] }, { name: 'side', image: 'busy' }],
      [{ name: 'main', image: 'nginx', ports: [{ containerPort: 80 }] }],
    ]],
    ['spec.template.metadata.annotations', [{ a: 'b' }]],
    ['status', [{ replicas: 2 }, { conditions: [{ type: 'Available', status: 'True' }] }]],
  ],
}
const META: readonly (readonly [path: string, values: readonly unknown[]])[] = [
  ['metadata.labels', [{ team: 'x' }, { team: 'y', tier: 'z' }, {}]],
  ['metadata.labels.team', ['x', 'y']],
  ['metadata.annotations', [{ note: 'one' }, { note: 'two', other: '1' }]],
  ['metadata.finalizers', [['x.io/a'], ['x.io/a', 'x.io/b'], null]],
  ['metadata.odd', [1]],
]
const SELECTORS = [
  'labelSelector=team%3Dx',
  'labelSelector=team!%3Dx',
  'labelSelector=team',
  'labelSelector=team+in+(x,y)',
  'limit=1',
  'limit=2',
  'fieldSelector=metadata.name%3Da',
  'fieldSelector=metadata.name!%3Da',
  'resourceVersion=0',
  '',
]
const OPTIONS = [
  '',
  '',
  '',
  'fieldValidation=Strict',
  'fieldValidation=Ignore',
  'dryRun=All',
  'fieldManager=one',
  'fieldManager=two',
]
const DELETES = [
  undefined,
  undefined,
  {},
  { propagationPolicy: 'Foreground' },
  { propagationPolicy: 'Orphan' },
  { propagationPolicy: 'Background' },
  { gracePeriodSeconds: 5 },
  { dryRun: ['All'] },
  { preconditions: { uid: 'x' } },
]

type RandomStep = readonly [line: string, body?: StepBody]

/** Returns random steps. The last one creates a ConfigMap, a Foo and a Deployment that end the watches. */
export function randomSteps(seed: number, count: number): RandomStep[] {
  const random = randomSource(seed)
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!
  const step = (): RandomStep => {
    const kind = pick(['cm', 'foos', 'foos', 'deploy'])
    const name = pick(NAMES)
    const path = `${kind}/${name}`
    const query = (...parts: readonly string[]): string => {
      const all = [...parts, pick(OPTIONS)].filter(Boolean).join('&')
      return all && `?${all}`
    }
    const changes = (most: number): [string, unknown][] =>
      Array.from({ length: 1 + random(most) }, () => {
        const [field, values] = pick([...FIELDS[kind]!, ...FIELDS[kind]!, ...META])
        // The real server takes lists and objects for a date.
        return [field, random(8) === 0 && field !== 'spec.when' ? pick(ODD) : pick(values)]
      })
    const sub = pick(['', '', '', '', '', kind === 'cm' ? '' : '/status'])
    switch (random(12)) {
      case 0:
      case 1: {
        const list = changes(3)
        return [`POST ${kind}${query()}`, () => changed(plain(kind, name), list)]
      }
      case 2:
      case 3: {
        const list = changes(2)
        const version = pick(['live', 'live', 'live', 'none', 'old'])
        return [`PUT ${path}${sub}${query()}`, (answers: readonly Body[]) => {
          const object = changed(latest(answers, kind, name) ?? plain(kind, name), list)
          if (version !== 'live' && object.metadata) delete object.metadata.resourceVersion
          if (version === 'old' && object.metadata) object.metadata.resourceVersion = '1'
          return object
        }]
      }
      case 4:
      case 5:
        return [`MERGE ${path}${sub}${query()}`, changed({}, changes(3))]
      case 6: {
        const list = changes(2)
        const op = pick(['add', 'replace', 'remove', 'test'])
        const patch = list.map(([field, value]) => ({ op, path: `/${field.replaceAll('.', '/')}`, value }))
        return [`JSON ${path}${sub}${query()}`, patch]
      }
      case 7:
        return [`STRATEGIC ${path}${sub}${query()}`, changed({}, changes(2))]
      case 8:
      case 9: {
        const manager = `fieldManager=${pick(['one', 'two', 'kubectl'])}${pick(['', '&force=true'])}`
        const bare = { apiVersion: plain(kind, name).apiVersion, kind: plain(kind, name).kind, metadata: { name } }
        return [`APPLY ${path}${sub}?${manager}`, changed(kind === 'deploy' ? plain(kind, name) : bare, changes(3))]
      }
      case 10:
        return [`DELETE ${path}${query()}`, pick(DELETES)]
      default:
        return [`GET ${pick([kind, path])}?${pick(SELECTORS)}`]
    }
  }
  return Array.from({ length: count }, step)
}

function plain(kind: string, name: string): Body {
  if (kind === 'cm') return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { k: 'v' } }
  if (kind === 'foos') return { apiVersion: '{group}/v1', kind: 'Foo', metadata: { name }, spec: { size: 1 } }
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'nginx' }] } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template },
  }
}

const KINDS: Readonly<Record<string, string>> = { cm: 'ConfigMap', foos: 'Foo', deploy: 'Deployment' }

function latest(answers: readonly Body[], kind: string, name: string): Body | undefined {
  return sorted(answers.findLast((each) => each?.kind === KINDS[kind] && each.metadata?.name === name))
}

/** Returns a copy with sorted fields: of several errors, a server reports the first in the document. */
function sorted(value: Body): Body {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
}

function changed(object: Body, changes: readonly (readonly [string, unknown])[]): Body {
  const result = structuredClone(object)
  for (const [path, value] of changes) {
    const keys = path.split('.')
    let current = result
    for (const key of keys.slice(0, -1)) {
      if (typeof current[key] !== 'object' || current[key] === null || Array.isArray(current[key])) current[key] = {}
      current = current[key]
    }
    current[keys.at(-1)!] = structuredClone(value)
  }
  return result
}

/** Returns an answer without what is random on the real server: which problem of an applied object it finds first. */
export function comparable(answer: string): string {
  return answer.replace(/(failed to create typed patch object .*?\)): .*$/s, '$1')
}

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'

/** What watches ask for, and the object whose event is the last. */
const WATCHES: readonly (readonly [query: string, end: string, accept?: string])[] = [
  ['', 'end-b'],
  ['labelSelector=team%3Dx', 'end-a'],
  ['labelSelector=team!%3Dx', 'end-b', METADATA],
  ['labelSelector=team,tier+notin+(z)&fieldSelector=metadata.name!%3Da', 'end-b'],
  ['fieldSelector=metadata.name!%3Db&sendInitialEvents=true&resourceVersionMatch=NotOlderThan', 'end-b'],
]

/**
 * Sends the steps to both servers in turn, and then compares watches from the beginning and from the middle. Throws an
 * AssertionError at the first difference.
 */
export async function compareServers(real: Api, embedded: Api, seed: number, count: number): Promise<void> {
  const seen: { real: Body[]; embedded: Body[] } = { real: [], embedded: [] }
  const versions = [await Promise.all([versionsOf(real), versionsOf(embedded)])]
  for (const [index, [line, body]] of randomSteps(seed, count).entries()) {
    const expected = await runStep(real, line, body, undefined, seen.real)
    const actual = await runStep(embedded, line, body, undefined, seen.embedded)
    seen.real.push(expected.answer)
    seen.embedded.push(actual.answer)
    const shown = typeof body === 'function' ? body(seen.embedded.slice(0, -1)) : body
    assert.equal(
      comparable(actual.full),
      comparable(expected.full),
      `seed ${seed}, step ${index}: ${line} ${JSON.stringify(shown)}`,
    )
    if (index === count >> 1) versions.push(await Promise.all([versionsOf(real), versionsOf(embedded)]))
  }
  for (const kind of Object.keys(KINDS)) {
    for (const api of [real, embedded]) {
      for (const [name, team] of [['end-a', 'x'], ['end-b', 'y']]) {
        const object = plain(kind, name!)
        object.metadata.labels = { team }
        await runStep(api, `POST ${kind}`, object, undefined, [])
      }
    }
    for (const [since, [ofReal, ofEmbedded]] of versions.entries()) {
      for (const watch of WATCHES) {
        const expected = await eventsSince(real, kind, ofReal[kind]!, watch)
        const actual = await eventsSince(embedded, kind, ofEmbedded[kind]!, watch)
        assert.deepEqual(actual, expected, `seed ${seed}: a watch of ${kind} since ${since} with ${watch}`)
      }
    }
  }
}

async function versionsOf(api: Api): Promise<Record<string, string>> {
  const versions: Record<string, string> = {}
  for (const kind of Object.keys(KINDS)) {
    const { answer } = await runStep(api, `GET ${kind}`, undefined, undefined, [])
    versions[kind] = answer.metadata.resourceVersion
  }
  return versions
}

/** Returns the events of a kind since a version, in text. */
async function eventsSince(
  api: Api,
  kind: string,
  version: string,
  [query, end, accept]: typeof WATCHES[number],
): Promise<string[]> {
  const line = `WATCH ${end} ${kind}?resourceVersion=${version}&${query}`
  const { full } = await runStep(api, line, undefined, accept === undefined ? undefined : { accept }, [])
  return full.split('\n')
}
