/** Compares what `kubeloop plan` says of a drawn operator with what the operator then does. */
import type { Client, KubeObject, OtherCluster } from 'kubeloop'
import { ConfigMap, Namespace, Secret, Service } from 'kubeloop/kinds'
import { planOf } from '../../lib/cli/plan/run.ts'
import type { PlannedChange } from '../../lib/cli/plan/result.ts'
import { CRD } from '../../lib/core/resource.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import { changedLines, differenceOf } from '../../lib/testing/mirror/difference.ts'
import type { Written } from '../../lib/testing/mirror/mirror.ts'
import { Chance } from '../tools/chance.ts'
import { silent } from '../testing/worlds.ts'
import { type Drawing, drawOptions, withoutRefused } from './options.ts'
import { Stage } from './stage.ts'
import { Bar, BARS, Foo, type Key, KEYS, NAMESPACES, type Observer, REFUSED, subjectOf, TERMINAL } from './subject.ts'
import { Zone } from './zones.ts'

const KINDS = [Foo, Service, ConfigMap, Secret, Bar, Zone, Namespace]
const DEFINITIONS = [...crdOf([Foo, Zone]), BARS] as readonly object[]
/** Longer than any timer of a drawn operator. */
const PERIOD_MS = 60_000
/** A plan has one replica, knows one version, and cannot call the webhooks of others. */
const PLANNED = {
  election: 'one replica',
  versions: 'one',
  meddled: false,
  account: false,
  west: 'there',
  admission: 'none',
} as const
/** What two releases may differ in here. */
const CHANGED = ['child', 'shares', 'annotates', 'finalize', 'filter', 'labels', 'spaces', 'sweeps', 'fails'] as const

/** Plans and runs a few releases, one after the other, with changes by people between them. Returns what differs. */
export async function planProblems(seed: number): Promise<readonly string[]> {
  const chance = new Chance(seed)
  let drawing: Drawing = { ...withoutRefused({ ...drawOptions(chance), election: 'one replica' }), ...PLANNED }
  const { app, west } = subjectOf(drawing, observer())
  const problems: string[] = []
  const stage = new Stage({
    ...{ seed, app, rules: undefined, sharded: undefined, logOf: () => silent, onReleased() {}, onWrite() {} },
    objects: [
      ...NAMESPACES.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', ...namespaceOf(name) })),
      ...DEFINITIONS,
    ],
    onProblem: (text) => void problems.push(text),
    onEnd: (error) => void problems.push(String(error)),
  })
  await stage.open()
  for (const name of NAMESPACES) await stage.clientOf(west).create(Namespace, namespaceOf(name))
  for (const each of DEFINITIONS) await stage.clientOf(west).createIfMissing(CRD as never, each as never)
  const client = stage.clientOf(drawing.place === 'own' ? undefined : west)
  await populate(chance, client, drawing.source === 'watches own' ? stage.clientOf(undefined) : client)
  for (const round of ['first', 'second', 'third']) {
    const deeds = round === 'first' ? [] : await meddle(chance, client)
    if (round !== 'first' && chance.isIn(0.5)) {
      const other = drawOptions(chance)
      drawing = { ...drawing, ...Object.fromEntries(CHANGED.map((name) => [name, other[name]])) }
    }
    // The garbage collector has done its part.
    await stage.advance(1000)
    for (const wrong of await differences(stage, drawing, west)) {
      problems.push(
        `${round} release of seed ${seed}, ${JSON.stringify(drawing)}, after ${deeds.join(', ')}:\n${wrong}`,
      )
    }
    if (problems.length > 0) break
  }
  await stage.close()
  return problems
}

const namespaceOf = (name: string) => ({ metadata: { name, labels: { team: name } } })

function observer(): Observer {
  const failed = new Set<string>()
  return {
    ...{ run: () => () => {}, problem() {}, unseen() {}, elsewhere: async () => {}, listed() {}, saw() {} },
    failsFirst(...of) {
      const isFirst = !failed.has(of.join())
      failed.add(of.join())
      return isFirst
    },
  }
}

async function populate(chance: Chance, client: Client, sources: Client): Promise<void> {
  for (const key of KEYS) {
    const labels = { ...(chance.isIn(0.5) && { selected: 'yes' }), ...(chance.isIn(0.7) && { passes: 'yes' }) }
    const spec = { value: chance.pick(['1', '2', '', REFUSED, TERMINAL]) }
    if (chance.isIn(0.8)) await client.create(Foo, { metadata: { ...key, labels }, spec })
    if (chance.isIn(0.25)) await client.create(Service, serviceOf(key, chance.isIn(0.5) ? { drawn: 'yes' } : {}))
    if (chance.isIn(0.3)) await client.create(Bar, { metadata: key, spec: { at: '1' } })
    if (chance.isIn(0.3)) await sources.create(Secret, { metadata: key })
    const name = `${key.name}-shared`
    if (chance.isIn(0.25)) await client.create(ConfigMap, { metadata: { ...key, name }, data: { other: 'z' } })
  }
}

const serviceOf = (metadata: Key, labels: Record<string, string>) => ({
  metadata: { ...metadata, labels },
  spec: { ports: [{ port: 80 }], selector: { app: 'other' } },
})

/** Changes some objects, as people do. Returns what was done. */
async function meddle(chance: Chance, client: Client): Promise<readonly string[]> {
  const done: string[] = []
  const flag = (): 'yes' | null => chance.pick(['yes', null])
  for (const key of KEYS) {
    const deed = chance.weighted({ none: 2, value: 1, remove: 1, label: 1, service: 1, 'no service': 1 })
    const service = await client.get(Service, key)
    if (!await client.get(Foo, key)) continue
    done.push(`${deed} ${key.namespace}/${key.name}`)
    if (deed === 'value') await client.patch(Foo, key, { merge: { spec: { value: chance.pick(['1', '2', '3']) } } })
    if (deed === 'remove') await client.delete(Foo, key)
    if (deed === 'label') {
      await client.patch(Foo, key, { merge: { metadata: { labels: { passes: flag(), selected: flag() } } } })
    }
    if (deed === 'service' && service) {
      await client.patch(Service, key, { merge: { spec: { selector: { app: 'changed' } } } })
    }
    if (deed === 'no service') await client.delete(Service, key)
  }
  return done
}

/** Plans, then runs for the same time. Returns what only one of both changed. */
async function differences(stage: Stage, drawing: Drawing, west: OtherCluster): Promise<readonly string[]> {
  const clusters = [undefined, west]
  const { plan } = await planOf(subjectOf(drawing, observer()).app, {
    sources: {
      ...{ config: { server: 'https://test', namespace: 'a' }, isLive: true, close() {} },
      at: new Date(stage.clock.now()).toISOString(),
      connect: (name) => stage.connectionTo(name === null ? undefined : west),
    },
    ...{ log: silent, time: PERIOD_MS },
  })
  const before = await Promise.all(clusters.map((each) => objectsOf(stage.clientOf(each))))
  const number = stage.next
  stage.start(subjectOf(drawing, observer()).app, 1)
  await stage.advance(PERIOD_MS)
  const wrong: string[] = []
  for (const [at, each] of clusters.entries()) {
    const done = changesOf(before[at]!, await objectsOf(stage.clientOf(each)))
    const planned = plan.changes.filter(({ cluster, kind }) => cluster === each?.name && isCompared(kind)).flatMap(
      textsOf,
    )
    // The garbage collector deletes also what the operator has not read.
    const isCollected = (text: string): boolean =>
      text.startsWith('delete ') &&
      before[at]!.get(text.slice('delete '.length))!.metadata.ownerReferences !== undefined
    const missing = done.filter((text) => !planned.includes(text) && !isCollected(text))
    wrong.push(...missing.map((text) => `only done: ${text}`))
    wrong.push(...planned.filter((text) => !done.includes(text)).map((text) => `only planned: ${text}`))
  }
  stage.stop(number)
  await stage.advance(PERIOD_MS)
  return wrong
}

const isCompared = (kind: string): boolean => KINDS.some((each) => each.kind === kind)

type Objects = ReadonlyMap<string, KubeObject>

async function objectsOf(client: Client): Promise<Objects> {
  const lists = await Promise.all(KINDS.map((kind) => client.list<KubeObject>(kind as typeof Bar).catch(() => [])))
  return new Map(
    lists.flat().map((each) => [`${each.kind} ${each.metadata.namespace ?? ''}/${each.metadata.name}`, each]),
  )
}

function changesOf(before: Objects, after: Objects): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((id) => {
    const isBuiltIn = !/^(?:Foo|Bar|Zone) /.test(id)
    const found = differenceOf({ before: before.get(id), after: after.get(id), isBuiltIn } as unknown as Written)
    return found ? [textOf(`${found.action} ${id}`, changedLines(found.before, found.after))] : []
  })
}

/** Returns the texts of a change, and of what the garbage collector deletes after it. */
function textsOf({ action, kind, namespace = '', name, diff, dependents = [] }: PlannedChange): string[] {
  return [textOf(`${action} ${kind} ${namespace}/${name}`, diff), ...dependents.map((each) => `delete ${each}`)]
}

/** Without addresses, names and times, which a server chooses. The order of two finalizers may differ. */
function textOf(title: string, diff: readonly string[]): string {
  if (title.startsWith('delete ')) return title
  return [title, ...diff.filter((line) => !line.startsWith(' ')).toSorted()].join('\n').replaceAll(
    /\b10\.96\.[\d.]+/g,
    'IP',
  )
    .replaceAll(/\b([xy])-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '$1-NAME')
    .replaceAll(/'\d{13}'|'\d{4}-.*Z'/g, 'TIME').replaceAll(/uid: .*/g, 'uid')
}
