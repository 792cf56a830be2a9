/** `kubeloop dev` with an operator of several clusters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap } from 'kubeloop/kinds'
import { inFolder, isError, type Line, reconciled, says } from './dev_command.ts'

const TWO_CLUSTERS = `
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const app = operator({ name: 'config-sync' })
const west = app.cluster('west', () => Promise.reject(new Error('not asked for in dev')))
app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.labels?.['copied'] !== undefined })
  .watches(ConfigMap, ({ metadata }) => [metadata], { cluster: west, when: ({ metadata }) => metadata.labels?.['copied'] !== undefined })
  .reconcile(async (map, { client, clientOf }) => {
    const copy = { metadata: { namespace: 'default', name: 'copy-of-' + map.metadata.name }, data: map.data }
    for (const each of [client, clientOf(west)]) await each.apply(ConfigMap, copy)
  })
await app.run(import.meta)
`
const COPIED = (text: string): string =>
  `{ apiVersion: v1, kind: ConfigMap, metadata: { name: a, labels: { copied: '' } }, data: { text: ${text} } }\n`

test('an operator with two clusters has a context for each, and finds their state after a restart', () =>
  inFolder(async (folder) => {
    folder.write('sync.ts', TWO_CLUSTERS)
    folder.write('a.yaml', COPIED('here'))
    folder.write('b.yaml', COPIED('there'))
    const dev = folder.run('dev', 'sync.ts', '--apply', 'a.yaml', '--apply', 'west=b.yaml', '--apply=wset=b.yaml')
    const cluster = await dev.line('the cluster', ({ message }) => message === 'cluster')
    assert.deepEqual([cluster['name'], cluster['context']], ['west', 'west'])
    const tried = [await dev.line('a line to try', says('try')), await dev.line('another', says('try'))]
    assert.deepEqual(tried.map((line) => line['command']), [
      'kubectl --kubeconfig .kubeloop/kubeconfig get configmaps -w',
      'kubectl --kubeconfig .kubeloop/kubeconfig --context west get configmaps -w',
    ])
    const applied = [await dev.line('applied', says('applied')), await dev.line('applied in west', says('applied'))]
    assert.deepEqual(applied.map((line) => [line['object'], line['cluster'], line['manifest']]), [
      ['ConfigMap default/a', undefined, 'a.yaml'],
      ['ConfigMap default/a', 'west', 'b.yaml'],
    ])
    assert.match(
      (await dev.line('a mistake', isError)).message,
      /^Cannot apply ConfigMap "a" in wset: the operator has no cluster of that name; .* \(b\.yaml; /,
    )
    const wrote = (text: string) => (line: Line): boolean =>
      line.message === 'reconcile' && JSON.stringify(line['writes']).includes(text)
    assert.deepEqual((await dev.line('the first reconcile', wrote('west')))['writes'], [
      { verb: 'apply', group: '', kind: 'ConfigMap', key: 'default/copy-of-a', result: 'created' },
      { verb: 'apply', group: '', kind: 'ConfigMap', key: 'default/copy-of-a', result: 'created', cluster: 'west' },
    ])
    const west = await folder.client({ context: 'west' })
    const textOf = async (name: string): Promise<unknown> =>
      (await west.get(ConfigMap, { namespace: 'default', name }))?.data?.['text']
    assert.deepEqual([await textOf('copy-of-a'), await textOf('a')], ['here', 'there'])
    await west.patch(ConfigMap, { namespace: 'default', name: 'a' }, { merge: { data: { more: '' } } })
    await dev.line('it hears of the other cluster', reconciled('ConfigMap default/a in west: data.more none→""'))

    folder.write('sync.ts', TWO_CLUSTERS.replace(`'copy-of-'`, `'second-copy-of-'`))
    await dev.line('restarted', says('restarted'))
    await dev.line('its reconcile', wrote('second-copy-of-a'))
    assert.equal(await textOf('a'), 'there')
    await dev.stop('SIGINT')
    const count = (message: string) => dev.output().split(`"message":"${message}"`).length - 1
    assert.deepEqual([count('try'), count('cluster')], [2, 1], 'reported once, not at each restart')
  }))

const GROUP = `
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const app = operator({ name: 'fleet' })
const config = { server: 'https://127.0.0.1:1', token: 'of-production' }
const members = app.clusters('members', async function* () {
  for (const add of ['east', 'west']) yield { add, config }
  return 'done'
})
app.controllerFor(ConfigMap, { clusters: members, when: ({ metadata }) => metadata.name === 'a' })
  .reconcile(async (map, { client }) => {
    await client.apply(ConfigMap, { metadata: { namespace: 'default', name: 'copy-of-' + map.metadata.name } })
  })
await app.run(import.meta)
`

test('the clusters that a provider adds have APIs of their own, as those with a name: none of its own is written to', () =>
  inFolder(async (folder) => {
    folder.write('fleet.ts', GROUP)
    const dev = folder.run('dev', 'fleet.ts')
    const isCluster = ({ message }: Line): boolean => message === 'cluster'
    const named = [await dev.line('a cluster', isCluster), await dev.line('another', isCluster)]
    assert.deepEqual(named.map((line) => line['name']).sort(), ['east', 'west'])
    const west = await folder.client({ context: 'west' })
    await west.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' } })
    const { writes, cluster } = await dev.line('its reconcile', says('reconcile'))
    assert.deepEqual([writes, cluster], [
      [{ verb: 'apply', group: '', kind: 'ConfigMap', key: 'default/copy-of-a', result: 'created', cluster: 'west' }],
      'west',
    ])
    await dev.stop('SIGINT')
    assert.doesNotMatch(dev.output(), /"level":"(?:warn|error)"/)
  }))
