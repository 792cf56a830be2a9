/** Controllers of workloads in worlds: objects that are written, time that passes, what is there then. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { test } from 'node:test'
import { Cluster, type Operator, operator, type Transport } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import {
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  EndpointSlice,
  Event,
  Job,
  Namespace,
  Node,
  Pod,
  ReplicaSet,
  Secret,
  Service,
  ServiceAccount,
  StatefulSet,
  TokenReview,
  ValidatingWebhookConfiguration,
} from 'kubeloop/kinds'
import { FakeClock, type World, world, type WorldOptions } from 'kubeloop/testing'
import { silentLog } from '../../../lib/observe/log.ts'
import { nextTurn } from '../../../lib/async/clock.ts'
import { PodScript, TIMES, Workloads } from '../../../lib/simcluster/workloads/workloads.ts'
import { format } from '../../conformance/recording.ts'
import { recordingLog } from '../../manager/parts.ts'
import { embeddedStates, idle, lacking } from './cases.ts'

const ref = (name: string) => ({ namespace: 'default', name })
const labels = { app: 'web' }
const template = (image: string, spec: object = {}) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'web', image }], ...spec },
})
const web = (replicas: number, image = 'web:1', spec: object = {}) => ({
  metadata: ref('web'),
  spec: { replicas, selector: { matchLabels: labels }, template: template(image), ...spec },
})
const pod = (name: string, spec: object = {}) => ({ metadata: ref(name), spec: template('web:1', spec).spec })

/** Runs in a world with controllers of workloads, and expects no errors in its log. */
async function inWorld(work: (w: World) => Promise<void>, options: WorldOptions = {}, app = idle): Promise<void> {
  const lines: string[] = []
  const w = await world(app, { workloads: true, log: recordingLog(lines), ...options })
  try {
    await work(w)
  } finally {
    await w.stop()
  }
  assert.deepEqual(lines.filter((line) => /^(warn|error)/.test(line)), [])
}

/** Returns `replicas/updated/ready/available` of the Deployment. */
async function countsOf(w: World): Promise<string> {
  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 } =
    (await w.client.get(Deployment, ref('web')))?.status ?? {}
  return [replicas, updatedReplicas, readyReplicas, availableReplicas].join('/')
}
const phasesOf = async (w: World): Promise<string[]> =>
  (await w.client.list(Pod)).map(({ status }) =>
    status?.containerStatuses?.[0]?.state?.waiting?.reason ?? String(status?.phase)
  )
const reasonOf = async (w: World, type: string): Promise<string | undefined> =>
  (await w.client.get(Deployment, ref('web')))?.status?.conditions?.find((each) => each.type === type)?.reason

test('a Deployment gets a ReplicaSet and pods, which become Ready after their time; deleted, all of them go', () =>
  inWorld(async (w) => {
    await w.client.create(Deployment, web(2))
    await w.settle()
    assert.deepEqual([await countsOf(w), await phasesOf(w)], ['2/2/0/0', ['ContainerCreating', 'ContainerCreating']])
    await w.advance(1999)
    assert.equal(await countsOf(w), '2/2/0/0')
    await w.advance(1)
    assert.deepEqual([await countsOf(w), await phasesOf(w)], ['2/2/2/2', ['Running', 'Running']])
    const pods = await w.client.list(Pod)
    assert.equal(new Set(pods.map(({ status }) => status?.podIP)).size, 2)
    assert.deepEqual(
      new Set(pods.map(({ spec }) => spec?.nodeName)),
      new Set((await w.client.list(Node)).map(({ metadata }) => metadata.name)),
    )
    await w.client.delete(Deployment, ref('web'))
    await w.settle()
    assert.deepEqual([await w.client.list(ReplicaSet), await w.client.list(Pod)], [[], []])
  }, { workloads: { readyAfter: '2s' } }))

test('a rollout keeps enough pods available, and goes back on request; the revisions and the history follow', () =>
  inWorld(async (w) => {
    await w.client.apply(Deployment, web(4))
    await w.advance('1s')
    const least: number[] = []
    await w.client.apply(Deployment, web(4, 'web:2'))
    for (let second = 0; second < 10; second++) {
      await w.advance('500ms')
      const counts = await countsOf(w)
      least.push(Number(counts.split('/').at(-1)))
      assert.ok(Number(counts.split('/')[0]) <= 5, counts)
    }
    assert.ok(Math.min(...least) >= 3, String(least))
    assert.equal(await countsOf(w), '4/4/4/4')
    assert.equal(await reasonOf(w, 'Progressing'), 'NewReplicaSetAvailable')
    const before = (await w.client.list(ReplicaSet)).find(({ spec }) => spec?.replicas === 0)!
    await w.client.apply(Deployment, web(4))
    await w.advance('5s')
    const sets = await w.client.list(ReplicaSet)
    assert.deepEqual(
      sets.map(({ metadata, spec }) => [metadata.name === before.metadata.name, spec?.replicas]).toSorted(),
      [[false, 0], [true, 4]],
    )
    const { annotations } = sets.find(({ metadata }) => metadata.uid === before.metadata.uid)!.metadata
    assert.equal(annotations?.['deployment.kubernetes.io/revision'], '3')
    assert.equal(annotations?.['deployment.kubernetes.io/revision-history'], '1')
    const { metadata, status } = (await w.client.get(Deployment, ref('web')))!
    assert.equal(metadata.annotations?.['deployment.kubernetes.io/revision'], '3')
    assert.deepEqual([metadata.generation, status?.observedGeneration], [3, 3])
  }))

test('a rollout to pods that do not start misses its deadline, and keeps the old pods', () =>
  inWorld(async (w) => {
    await w.client.apply(Deployment, web(4))
    await w.advance('1s')
    const [old] = await w.client.list(ReplicaSet)
    assert.throws(() => w.pods.fail('web-*', { raeson: 'x' } as never), /Cannot let pods fail: .*"raeson"/)
    const mend = w.pods.fail('web-*', { reason: 'ImagePullBackOff' })
    await w.client.apply(Deployment, web(4, 'web:2', { progressDeadlineSeconds: 60 }))
    await w.advance('59s')
    assert.deepEqual([await countsOf(w), await reasonOf(w, 'Progressing')], ['5/2/3/3', 'ReplicaSetUpdated'])
    await w.advance('5s')
    assert.deepEqual([await countsOf(w), await reasonOf(w, 'Progressing')], ['5/2/3/3', 'ProgressDeadlineExceeded'])
    assert.equal((await w.client.get(ReplicaSet, old!))?.spec?.replicas, 3)
    mend()
    await w.advance('5s')
    assert.deepEqual([await countsOf(w), await reasonOf(w, 'Progressing')], ['4/4/4/4', 'NewReplicaSetAvailable'])
  }))

test('Recreate starts new pods when the old ones are gone', () =>
  inWorld(async (w) => {
    const recreate = { strategy: { type: 'Recreate' } }
    await w.client.apply(Deployment, web(2, 'web:1', recreate))
    await w.advance('1s')
    const release = w.pods.hold('web-*')
    await w.client.apply(Deployment, web(2, 'web:2', recreate))
    await w.advance('5s')
    const images = async () => (await w.client.list(Pod)).map(({ spec }) => spec?.containers[0]?.image)
    assert.deepEqual(await images(), ['web:1', 'web:1'])
    // The grace period ends pods that are held.
    await w.advance('25s')
    assert.deepEqual([await images(), await phasesOf(w)], [['web:2', 'web:2'], [
      'ContainerCreating',
      'ContainerCreating',
    ]])
    release()
    await w.advance('1s')
    assert.equal(await countsOf(w), '2/2/2/2')
  }))

test('pods of a ReplicaSet are replaced, adopted and released by their labels', () =>
  inWorld(async (w) => {
    const set = await w.client.create(ReplicaSet, { ...web(2) })
    await w.advance('1s')
    const [first, second] = await w.client.list(Pod)
    await w.client.delete(Pod, first!)
    await w.advance('1s')
    assert.equal((await w.client.list(Pod)).filter(({ metadata }) => metadata.uid === first!.metadata.uid).length, 0)
    await w.client.patch(Pod, second!, { merge: { metadata: { labels: { app: 'debug' } } } })
    await w.advance('1s')
    assert.deepEqual((await w.client.get(Pod, second!))?.metadata.ownerReferences ?? [], [])
    assert.equal((await w.client.list(Pod)).length, 3)
    await w.client.patch(Pod, second!, { merge: { metadata: { labels } } })
    await w.advance('1s')
    assert.equal((await w.client.list(Pod)).length, 2)
    assert.equal((await w.client.get(Pod, second!))?.metadata.ownerReferences?.[0]?.uid, set.metadata.uid)
  }))

test('minReadySeconds delays availability', () =>
  inWorld(async (w) => {
    await w.client.create(Deployment, web(1, 'web:1', { minReadySeconds: 10 }))
    await w.advance('10s')
    assert.equal(await countsOf(w), '1/1/1/0')
    await w.advance('1s')
    assert.equal(await countsOf(w), '1/1/1/1')
  }))

test('pods that a webhook refuses are a condition of the ReplicaSet and the Deployment, until it lets them in', async () => {
  const app = operator({ name: 'guard' })
  let isOpen = false
  app.admission(Pod, { validate: () => isOpen ? [] : [{ field: 'spec', message: 'closed' }] })
  await inWorld(
    async (w) => {
      assert.equal((await w.client.list(ValidatingWebhookConfiguration)).length, 1)
      await w.client.create(Deployment, web(1))
      await w.advance('1s')
      const condition = async () =>
        (await w.client.get(Deployment, ref('web')))?.status?.conditions?.find(({ type }) => type === 'ReplicaFailure')
      assert.equal((await condition())?.reason, 'FailedCreate')
      assert.match((await condition())?.message ?? '', /closed/)
      isOpen = true
      await w.advance('1m')
      assert.deepEqual([await countsOf(w), await condition()], ['1/1/1/1', undefined])
    },
    {},
    app,
  )
})

test('a ReplicaSet that is refused is a condition of its Deployment, until it is let in', async () => {
  const app = operator({ name: 'guard' })
  let isOpen = false
  app.admission(ReplicaSet, { validate: () => isOpen ? [] : [{ field: 'spec', message: 'closed' }] })
  await inWorld(
    async (w) => {
      await w.client.create(Deployment, web(1))
      await w.advance('1s')
      assert.equal(await reasonOf(w, 'Progressing'), 'ReplicaSetCreateError')
      isOpen = true
      await w.advance('1m')
      assert.deepEqual([await countsOf(w), await reasonOf(w, 'Progressing')], ['1/1/1/1', 'NewReplicaSetAvailable'])
    },
    {},
    app,
  )
})

test('a Deployment whose hash is taken by another ReplicaSet gets another one', async () => {
  let name = ''
  await inWorld(async (w) => {
    await w.client.create(Deployment, web(1))
    await w.settle()
    name = (await w.client.list(ReplicaSet))[0]!.metadata.name
  })
  await inWorld(async (w) => {
    const other = { app: 'other' }
    const taken = { ...template('other:1'), metadata: { labels: other } }
    await w.client.create(ReplicaSet, {
      metadata: ref(name),
      spec: { replicas: 0, selector: { matchLabels: other }, template: taken },
    })
    await w.client.create(Deployment, web(1))
    await w.advance('5s')
    assert.equal(await countsOf(w), '1/1/1/1')
    assert.equal((await w.client.get(Deployment, ref('web')))?.status?.collisionCount, 1)
  })
})

test('objects of the start are taken over', () =>
  inWorld(async (w) => {
    assert.equal(await countsOf(w), '1/1/0/0')
    await w.advance('1s')
    assert.equal(await countsOf(w), '1/1/1/1')
  }, { objects: [{ apiVersion: 'apps/v1', kind: 'Deployment', ...web(1), status: { replicas: 7 } }] }))

test('a namespace goes with its workloads', () =>
  inWorld(async (w) => {
    await w.client.create(Namespace, { metadata: { name: 'shop' } })
    await w.client.create(Deployment, { ...web(3), metadata: { namespace: 'shop', name: 'web' } })
    await w.advance('1s')
    await w.client.delete(Namespace, { name: 'shop' })
    await w.advance('1m')
    assert.deepEqual([await w.client.get(Namespace, { name: 'shop' }), await w.client.list(Pod)], [undefined, []])
  }))

test('pods fail by their restart policy, whenever they run, until the rule ends', () =>
  inWorld(async (w) => {
    for (const restartPolicy of ['Always', 'Never', 'OnFailure']) {
      await w.client.create(Pod, pod(restartPolicy.toLowerCase(), { restartPolicy }))
    }
    await w.client.create(Pod, pod('other'))
    const mends = [
      w.pods.fail('default/al*', { exitCode: 3 }),
      w.pods.fail('never', { reason: 'OOMKilled' }),
      w.pods.fail('other/*'),
    ]
    await w.advance('2s')
    const state = async (name: string) => {
      const { status } = (await w.client.get(Pod, ref(name)))!
      const [container] = status?.containerStatuses ?? []
      return [
        status?.phase,
        (container?.state?.terminated ?? container?.lastState?.terminated)?.exitCode,
        container?.restartCount,
      ]
    }
    assert.deepEqual(await state('always'), ['Running', 3, 0])
    assert.deepEqual(await state('never'), ['Failed', 137, 0])
    assert.deepEqual(await state('onfailure'), ['Succeeded', 0, 0])
    assert.deepEqual(await state('other'), ['Running', undefined, 0])
    await w.advance('30s')
    assert.deepEqual(await state('always'), ['Running', 3, 2])
    for (const mend of mends) {
      mend()
    }
    await w.advance('40s')
    assert.equal((await w.client.get(Pod, ref('always')))?.status?.containerStatuses?.[0]?.ready, true)
  }))

/** An operator that does nothing, and the connection of its start. */
function reader(): { readonly app: Operator; readonly send: Transport } {
  const app = operator({ name: 'reader' })
  let transport: Transport | undefined
  app.extend(({ cluster }) => void (transport = cluster.unfenced.transport))
  app.add('wait', ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())))
  return { app, send: (request) => transport!(request) }
}

test('logs answer with the lines of a test, as the options of the request select', async () => {
  const { app, send } = reader()
  await inWorld(
    async (w) => {
      const get = async (query = '', name = 'a'): Promise<string> => {
        const { status, body } = await send({
          method: 'GET',
          path: `/api/v1/namespaces/default/pods/${name}/log${query}`,
        })
        const text = await body.text()
        if (status >= 400) throw new Error((JSON.parse(text) as { message: string }).message)
        return text
      }
      await w.client.create(Pod, pod('a', { initContainers: [{ name: 'init', image: 'init:1' }] }))
      await w.client.create(Pod, pod('unassigned', { schedulerName: 'mine' }))
      await w.settle()
      await assert.rejects(get(), /container "web" in pod "a" is waiting to start: PodInitializing/)
      assert.equal(await get('', 'unassigned'), '')
      await w.advance('1s')
      assert.match(await get(), /^kubeloop simulates this container: the image web:1 does not run\n$/)
      assert.match(await get('?container=init'), /init:1/)
      w.pods.log('default/a', 'one\ntwo\n')
      await w.advance('10s')
      w.pods.log('*', 'three')
      w.pods.log('b', 'other')
      assert.equal(await get(), 'one\ntwo\nthree\n')
      assert.equal(await get('?tailLines=1'), 'three\n')
      assert.equal(await get('?tailLines=0'), '')
      assert.equal(await get('?sinceSeconds=5'), 'three\n')
      assert.equal(await get('?sinceTime=2026-01-01T00:00:05Z'), 'three\n')
      assert.equal(await get('?limitBytes=5'), 'one\nt')
      assert.equal(await get('?timestamps=true&tailLines=1'), '2026-01-01T00:00:11.000000000Z three\n')
      await assert.rejects(get('?previous=true'), /previous terminated container "web" in pod "a" not found/)
      await assert.rejects(get('?container=x'), /container x is not valid for pod a/)
      const ephemeralContainers = [{ name: 'debug', image: 'sh' }]
      await send({
        ...{ method: 'PATCH', path: '/api/v1/namespaces/default/pods/a/ephemeralcontainers' },
        headers: { 'content-type': 'application/strategic-merge-patch+json' },
        body: JSON.stringify({ spec: { ephemeralContainers } }),
      })
      await assert.rejects(get('?container=debug'), /container "debug" in pod "a" is waiting to start/)
      w.pods.fail('a')
      await w.settle()
      assert.match(await get('?previous=true'), /^one\n/)
    },
    {},
    app,
  )
})

test('a followed log has each line when it is written, and ends with its container or its pod', async () => {
  const { app, send } = reader()
  await inWorld(
    async (w) => {
      const follow = async (query = '', signal?: AbortSignal) => {
        const path = `/api/v1/namespaces/default/pods/a/log?follow=true${query}`
        const { body } = await send({ method: 'GET', path, signal })
        const seen = { text: '', ended: undefined as unknown }
        const decoder = new TextDecoder()
        const read = async (): Promise<void> => {
          for await (const chunk of body) seen.text += decoder.decode(chunk)
        }
        read().then(() => (seen.ended = true), (error: unknown) => (seen.ended = error))
        await w.settle()
        return seen
      }
      await w.client.create(Pod, pod('a'))
      await w.advance('1s')
      const [whole, cut] = [await follow(), await follow('&limitBytes=80')]
      assert.match(whole.text, /^kubeloop simulates this container: .*\n$/)
      w.pods.log('a', 'one\ntwo')
      w.pods.log('b', 'other')
      const stopping = new AbortController()
      const [last, stopped] = [await follow('&tailLines=1&timestamps=true'), await follow('', stopping.signal)]
      w.pods.log('a', 'three')
      await w.settle()
      stopping.abort('enough')
      await w.settle()
      w.pods.log('a', 'four\nfive')
      await w.settle()
      assert.match(whole.text, /does not run\none\ntwo\nthree\nfour\nfive\n$/)
      const at = '2026-01-01T00:00:01.000000000Z'
      assert.equal(last.text, `${at} two\n${at} three\n${at} four\n${at} five\n`)
      assert.deepEqual(stopped, { text: 'one\ntwo\nthree\n', ended: 'enough' })
      assert.deepEqual([cut.text.length, cut.ended, whole.ended], [80, true, undefined])
      w.pods.fail('a')
      await w.settle()
      assert.deepEqual([whole.ended, last.ended], [true, true])
      await w.client.delete(Pod, ref('a'), { gracePeriodSeconds: 0 })
    },
    {},
    app,
  )
})

test('a CronJob has a Job at each of its times, and catches up with the last one', () =>
  inWorld(async (w) => {
    const jobTemplate = { spec: { template: { spec: template('web:1', { restartPolicy: 'Never' }).spec } } }
    const spec = { schedule: '*/5 * * * *', successfulJobsHistoryLimit: 2, jobTemplate }
    await w.client.create(CronJob, { metadata: ref('tick'), spec })
    await w.client.create(CronJob, { metadata: ref('often'), spec: { ...spec, schedule: '@every 1h30m' } })
    await w.client.create(CronJob, { metadata: ref('odd'), spec: { ...spec, schedule: '*/70 5/20 * * *' } })
    // Another has taken the name of its Job.
    await w.client.create(CronJob, { metadata: ref('taken'), spec })
    await w.client.create(Job, { metadata: ref('taken-29453765'), spec: { ...jobTemplate.spec, suspend: true } })
    const jobs = async () =>
      (await w.client.list(Job)).map(({ metadata }) => metadata.name).filter((name) => !name.startsWith('taken'))
    await w.advance('299s')
    assert.deepEqual(await jobs(), [])
    await w.advance('1s')
    assert.deepEqual(await jobs(), ['tick-29453765'])
    const tick = async () => (await w.client.get(CronJob, ref('tick')))!.status!
    assert.deepEqual([(await tick()).active?.[0]?.name, (await tick()).lastScheduleTime], [
      'tick-29453765',
      '2026-01-01T00:05:00Z',
    ])
    assert.ok((await tick()).active?.[0]?.resourceVersion)
    assert.equal((await w.client.get(CronJob, ref('taken')))!.status?.active, undefined)
    await w.advance('605s')
    assert.deepEqual(await jobs(), ['tick-29453770', 'tick-29453775'])
    assert.equal((await tick()).lastSuccessfulTime, '2026-01-01T00:15:02Z')
    await w.client.patch(CronJob, ref('tick'), { merge: { spec: { suspend: true } } })
    await w.advance('75m')
    assert.deepEqual(await jobs(), ['often-29453850', 'tick-29453770', 'tick-29453775'])
    await w.client.patch(CronJob, ref('tick'), { merge: { spec: { suspend: false } } })
    await w.advance('1m')
    assert.deepEqual((await jobs()).slice(1), ['tick-29453775', 'tick-29453850'])
    assert.deepEqual(
      new Set(
        (await w.client.list(Event)).filter(({ involvedObject }) => involvedObject.kind === 'CronJob').map((event) =>
          event.reason
        ),
      ),
      new Set(['SuccessfulCreate', 'SawCompletedJob', 'SuccessfulDelete', 'UnparseableSchedule']),
    )
  }))

test('the token of a Secret is its account, until the Secret is deleted', () =>
  inWorld(async (w) => {
    const annotations = { 'kubernetes.io/service-account.name': 'default' }
    await w.client.create(Secret, {
      metadata: { ...ref('token'), annotations },
      type: 'kubernetes.io/service-account-token',
    })
    // Of an account that had the name before.
    const earlier = { ...annotations, 'kubernetes.io/service-account.uid': 'earlier' }
    await w.client.create(Secret, {
      metadata: { ...ref('earlier'), annotations: earlier },
      type: 'kubernetes.io/service-account-token',
    })
    await w.settle()
    assert.equal(await w.client.get(Secret, ref('earlier')), undefined)
    const token = atob((await w.client.get(Secret, ref('token')))!.data!['token']!)
    const review = async () => (await w.client.create(TokenReview, { metadata: { name: 'a' }, spec: { token } })).status
    assert.equal((await review())?.user?.username, 'system:serviceaccount:default:default')
    await w.advance('366d')
    assert.equal((await review())?.authenticated, true)
    await w.client.delete(Secret, ref('token'))
    assert.notEqual((await review())?.authenticated, true)
  }))

test('EndpointSlices follow the pods of their Service through a rollout', () =>
  inWorld(async (w) => {
    await w.client.create(Service, { metadata: ref('web'), spec: { selector: labels, ports: [{ port: 80 }] } })
    // One that another controller manages for the same Service stays.
    const metadata = { ...ref('other'), labels: { 'kubernetes.io/service-name': 'web' } }
    await w.client.create(EndpointSlice, { metadata, addressType: 'IPv4', endpoints: [] })
    await w.client.apply(Deployment, web(3))
    await w.settle()
    const ready = async () =>
      (await w.client.list(EndpointSlice)).flatMap(({ endpoints }) => endpoints ?? []).map(({ conditions }) =>
        conditions?.ready
      )
    assert.deepEqual(await ready(), [false, false, false])
    await w.advance('1s')
    assert.deepEqual(await ready(), [true, true, true])
    await w.client.apply(Deployment, web(2, 'web:2'))
    await w.advance('1m')
    const addresses = (await w.client.list(Pod)).map(({ status }) => status?.podIP)
    const [other, slice, ...more] = await w.client.list(EndpointSlice)
    assert.equal(other!.metadata.name, 'other')
    assert.deepEqual(new Set(slice?.endpoints?.map((each) => each.addresses[0])), new Set(addresses))
    assert.deepEqual([addresses.length, more.length, await ready()], [2, 0, [true, true]])
    await w.client.edit(Service, ref('web'), ({ metadata }) => void (metadata.finalizers = ['test/held']))
    await w.client.delete(Service, ref('web'))
    await w.client.delete(EndpointSlice, slice!)
    await w.settle()
    assert.equal((await w.client.list(EndpointSlice)).length, 1)
  }))

const elsewhere = !('Bun' in globalThis) ? false : 'Node has all cases; each engine runs the other tests of the file'

test('the cases of real_workloads.test.ts come to the states that a real control plane comes to', {
  skip: elsewhere,
}, async () => {
  let before: readonly string[] = []
  const changes = [...await embeddedStates()].map(([step, lines]) => {
    const change = lacking(lines, before)
    before = lines
    return [`${step}: ${lines.length} objects`, change] as const
  })
  const file = new URL('states.txt', import.meta.url)
  // With KUBELOOP_WRITE_GOLDEN=1 the file is written anew: run real_workloads.test.ts, too.
  if (process.env['KUBELOOP_WRITE_GOLDEN']) writeFileSync(file, format(changes))
  assert.deepEqual(format(changes).split('\n'), readFileSync(file, 'utf8').split('\n'))
})

test('a Job that has finished goes after its time, and one whose Job is gone loses its pods', () =>
  inWorld(async (w) => {
    const { spec } = template('web:1', { restartPolicy: 'Never' })
    await w.client.create(Job, { metadata: ref('a'), spec: { ttlSecondsAfterFinished: 60, template: { spec } } })
    await w.client.create(Job, { metadata: ref('b'), spec: { template: { spec } } })
    w.pods.hold('b-*')
    await w.advance('61s')
    assert.ok(await w.client.get(Job, ref('a')))
    await w.advance('1s')
    assert.equal(await w.client.get(Job, ref('a')), undefined)
    await w.client.delete(Job, ref('b'))
    await w.advance('31s')
    assert.deepEqual(await w.client.list(Pod), [])
  }))

test('failed pods of a Job are replaced after a back-off that doubles', () =>
  inWorld(async (w) => {
    w.pods.fail('a-*', { exitCode: 7 })
    const { spec } = template('web:1', { restartPolicy: 'Never' })
    await w.client.create(Job, { metadata: ref('a'), spec: { backoffLimit: 2, template: { spec } } })
    const counts: number[] = []
    for (const time of ['1s', '9s', '1s', '20s', '1s', '1m'] as const) {
      await w.advance(time)
      counts.push((await w.client.list(Pod)).length)
    }
    assert.deepEqual(counts, [1, 1, 2, 2, 3, 3])
    const { status } = (await w.client.get(Job, ref('a')))!
    assert.deepEqual([status?.failed, status?.conditions?.find(({ type }) => type === 'Failed')?.reason], [
      3,
      'BackoffLimitExceeded',
    ])
  }))

test('every namespace has its ServiceAccount, which comes back', () =>
  inWorld(async (w) => {
    await w.client.create(Namespace, { metadata: { name: 'shop' } })
    await w.settle()
    const account = { namespace: 'shop', name: 'default' }
    assert.ok(await w.client.get(ServiceAccount, account))
    await w.client.delete(ServiceAccount, account)
    await w.settle()
    assert.ok(await w.client.get(ServiceAccount, account))
  }))

test('a world without workloads has none, and says so', async () => {
  const w = await world(idle)
  await w.client.create(Deployment, web(1))
  await w.advance('1m')
  assert.deepEqual([await w.client.list(ReplicaSet), await w.client.list(Node), await w.client.list(Event)], [
    [],
    [],
    [],
  ])
  assert.throws(() => w.pods, /the world runs none; start it by world\(app, \{ workloads: true \}\)/)
  await w.stop()
  const other = await world(idle, { workloads: true })
  for (const pattern of ['', '/a', 'a/', 'a/b/c']) {
    assert.throws(() => other.pods.hold(pattern), /write a name or NAMESPACE\/NAME/)
  }
  await other.stop()
  await assert.rejects(world(idle, { workloads: { readyIn: 1 } as object }), /readyIn/)
})

test('every cluster of a world has its workloads, and one script', async () => {
  const app = operator({ name: 'fleet' })
  const west = app.cluster('west', { server: 'https://127.0.0.1:1' })
  app.controllerFor(Deployment, { clusters: [west] }).reconcile(async () => {})
  await inWorld(
    async (w) => {
      const client = w.clientOf(west)
      await client.create(Deployment, web(1))
      await w.advance('1s')
      assert.equal((await client.get(Deployment, ref('web')))?.status?.readyReplicas, 1)
      assert.deepEqual(await w.client.list(Pod), [])
      w.pods.fail('web-*')
      await w.settle()
      assert.equal((await client.get(Deployment, ref('web')))?.status?.readyReplicas ?? 0, 0)
    },
    {},
    app,
  )
})

test('events tell what the controllers did, and equal seeds give equal runs', async () => {
  const run = async (): Promise<string[]> => {
    const told: string[] = []
    await inWorld(async (w) => {
      await w.client.create(Deployment, web(1))
      await w.advance('1s')
      await w.client.patch(Deployment, ref('web'), { merge: { spec: { replicas: 0 } } })
      await w.advance('1s')
      told.push(
        ...(await w.client.list(Event)).map(({ involvedObject, reason, message }) =>
          `${involvedObject.kind} ${reason}: ${message}`
        ),
      )
    })
    return told.toSorted()
  }
  const told = await run()
  const [, set, name] = /(web-\w+)(-\w+)/.exec(told.join())!
  assert.deepEqual(told, [
    `Deployment ScalingReplicaSet: Scaled down replica set ${set} from 1 to 0`,
    `Deployment ScalingReplicaSet: Scaled up replica set ${set} from 0 to 1`,
    `Pod Scheduled: Successfully assigned default/${set}${name} to kubeloop`,
    `ReplicaSet SuccessfulCreate: Created pod: ${set}${name}`,
    `ReplicaSet SuccessfulDelete: Deleted pod: ${set}${name}`,
  ])
  assert.deepEqual(await run(), told)
})

test('the controllers go on after lost watches and a dropped history', () =>
  inWorld(async (w) => {
    await w.client.create(Deployment, web(1))
    await w.advance('1s')
    w.compact()
    w.closeWatches()
    await w.client.patch(Deployment, ref('web'), { merge: { spec: { replicas: 2 } } })
    await w.advance('1m')
    assert.equal(await countsOf(w), '2/2/2/2')
  }))

test('deletes name a uid, and new owners a version: another object may have the name, or other owners, meanwhile', async () => {
  const clock = new FakeClock({
    settle: async () => {
      for (let turn = 0; turn < 50; turn++) await nextTurn()
    },
  })
  const server = new ApiServer({ clock })
  const requests: string[] = []
  const transport: Transport = (request) => {
    const kind = request.path.split('/').at(-2)
    const { preconditions, metadata } = JSON.parse(request.body as string || '{}') as {
      readonly preconditions?: object
      readonly metadata?: { readonly ownerReferences?: unknown; readonly resourceVersion?: string }
    }
    if (request.method === 'DELETE') requests.push(`${kind} ${Object.keys(preconditions ?? {}).join()}`)
    if (request.method === 'PATCH' && metadata?.ownerReferences) {
      requests.push(`${kind} ${Object.keys(metadata).join()}`)
    }
    return server.handle(request)
  }
  const { client } = new Cluster({ name: 'test', transport: server.handle, clock })
  const script = new PodScript(() => clock.now())
  const stop = new AbortController()
  const running = new Workloads({ transport, clock, log: silentLog, script, times: TIMES }).start(stop.signal)
  const { spec } = template('web:1', { restartPolicy: 'Never' })
  const jobTemplate = { spec: { template: { spec } } }
  const own = { selector: { matchLabels: labels }, revisionHistoryLimit: 0 }
  await client.create(Deployment, web(1, 'web:1', { revisionHistoryLimit: 0 }))
  const daemonLabels = { app: 'daemon' }
  await client.create(Pod, { ...pod('extra'), metadata: { ...ref('extra'), labels: daemonLabels } })
  const daemon = { labels: daemonLabels, annotations: { note: 'a' }, finalizers: ['test/held'] }
  await client.create(DaemonSet, {
    metadata: ref('daemon'),
    spec: { selector: { matchLabels: daemonLabels }, template: { ...template('web:1'), metadata: daemon } },
  })
  // Another port needs another slice.
  const containers = [{ name: 'web', image: 'web:1', ports: [{ name: 'a', containerPort: 1 }] }]
  const setTemplate = { ...template('web:1'), spec: { containers } }
  const resources = { requests: { storage: '1Gi' } }
  const volumes = {
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources } }],
    persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' },
  }
  await client.create(StatefulSet, { metadata: ref('set'), spec: { ...own, ...volumes, template: setTemplate } })
  await client.create(CronJob, {
    metadata: ref('tick'),
    spec: { schedule: '* * * * *', successfulJobsHistoryLimit: 0, jobTemplate },
  })
  await client.create(Job, { metadata: ref('a'), spec: { ...jobTemplate.spec, ttlSecondsAfterFinished: 0 } })
  await client.create(Service, {
    metadata: ref('web'),
    spec: { selector: labels, ports: [{ port: 80, targetPort: 'a' }] },
  })
  const annotations = { 'kubernetes.io/service-account.name': 'none' }
  const type = 'kubernetes.io/service-account-token'
  await client.create(Secret, { metadata: { ...ref('token'), annotations }, type })
  await clock.advance(90_000)
  const daemons = await client.list(Pod, { labels: daemonLabels })
  assert.deepEqual(daemons.map(({ metadata: { annotations, finalizers } }) => ({ annotations, finalizers })), [
    { annotations: daemon.annotations, finalizers: daemon.finalizers },
  ])
  await client.apply(Deployment, web(1, 'web:2', { revisionHistoryLimit: 0 }))
  await client.patch(StatefulSet, ref('set'), { merge: { spec: { template: template('web:2') } } })
  await clock.advance(90_000)
  await client.patch(StatefulSet, ref('set'), { merge: { spec: { replicas: 0 } } })
  for (const image of ['web:2', 'web:1']) {
    await client.patch(DaemonSet, ref('daemon'), { merge: { spec: { template: { spec: template(image).spec } } } })
    await clock.advance(1000)
  }
  const revisions = (await client.list(ControllerRevision, { labels: daemonLabels })).map(({ revision }) => revision)
  assert.deepEqual(revisions.toSorted(), [2, 3], 'a template that comes back is the newest')
  await clock.advance(90_000)
  stop.abort()
  await clock.advance(1000)
  await running
  assert.deepEqual([...new Set(requests)].toSorted(), [
    ...['controllerrevisions uid', 'endpointslices uid', 'jobs uid'],
    'persistentvolumeclaims ownerReferences,resourceVersion',
    'pods ownerReferences,resourceVersion',
    ...['pods uid', 'replicasets uid', 'secrets uid'],
  ])
})
