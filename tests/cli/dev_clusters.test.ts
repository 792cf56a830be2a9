/** `kubeloop dev` with an operator of several clusters. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Client, Cluster, loadConfig } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import { inFolder, type Line } from './dev_command.ts'

const reconciled = (causes: string) => (line: Line): boolean =>
  line.message === 'reconcile' && String(line['causes']).includes(causes)
const says = (text: string) => (line: Line): boolean => line.message.includes(text)

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

test('an operator with two clusters has a context for each, and finds their state after a restart and a stop', () =>
  inFolder(async (folder) => {
    folder.write('sync.ts', TWO_CLUSTERS)
    folder.write('a.yaml', COPIED('here'))
    folder.write('b.yaml', COPIED('there'))
    const first = folder.run('dev', 'sync.ts', '--apply', 'a.yaml', '--apply', 'west=b.yaml', '--apply=wset=b.yaml')
    const cluster = await first.line('the cluster', (line) => line.message === 'cluster')
    assert.deepEqual([cluster['name'], cluster['context']], ['west', 'west'])
    const tried = [await first.line('a line to try', says('try')), await first.line('another', says('try'))].map((
      line,
    ) => line['command'])
    assert.deepEqual(tried, [
      'kubectl --kubeconfig .kubeloop/kubeconfig get configmaps -w',
      'kubectl --kubeconfig .kubeloop/kubeconfig --context west get configmaps -w',
    ])
    const applied = [await first.line('applied', says('applied')), await first.line('applied in west', says('applied'))]
    assert.deepEqual(applied.map((line) => [line['object'], line['cluster'], line['manifest']]), [[
      'ConfigMap default/a',
      undefined,
      'a.yaml',
    ], ['ConfigMap default/a', 'west', 'b.yaml']])
    const refused = await first.line('a mistake', (line) => line.level === 'error')
    assert.match(
      refused.message,
      /^Cannot apply ConfigMap "a" in wset: the operator has no cluster of that name; .* \(b\.yaml; /,
    )
    const report = await first.line(
      'the first reconcile',
      (line) => line.message === 'reconcile' && JSON.stringify(line['writes']).includes('west'),
    )
    assert.deepEqual(report['writes'], [
      { verb: 'apply', kind: 'ConfigMap', key: 'default/copy-of-a', result: 'created' },
      { verb: 'apply', kind: 'ConfigMap', key: 'default/copy-of-a', result: 'created', cluster: 'west' },
    ])
    const west = async (): Promise<Client> =>
      new Cluster({
        name: 'test',
        config: (await loadConfig({ kubeconfig: join(folder.path, '.kubeloop/kubeconfig'), context: 'west' })).cluster,
      }).client
    const copy = { namespace: 'default', name: 'copy-of-a' }
    assert.equal((await (await west()).get(ConfigMap, copy))?.data?.['text'], 'here')
    assert.equal((await (await west()).get(ConfigMap, { namespace: 'default', name: 'a' }))?.data?.['text'], 'there')
    await (await west()).patch(ConfigMap, { namespace: 'default', name: 'a' }, { merge: { data: { more: '' } } })
    await first.line('it hears of the other cluster', reconciled('ConfigMap default/a in west: data.more none→""'))

    folder.write('sync.ts', TWO_CLUSTERS.replace(`'copy-of-'`, `'second-copy-of-'`))
    await first.line('restarted', says('restarted'))
    await first.line(
      'its reconcile',
      (line) => line.message === 'reconcile' && JSON.stringify(line['writes']).includes('second-copy-of-a'),
    )
    assert.equal((await (await west()).get(ConfigMap, { namespace: 'default', name: 'a' }))?.data?.['text'], 'there')
    await first.stop('SIGINT')
    for (const once of ['try', 'cluster']) {
      assert.equal(
        first.output().match(new RegExp(`"message":"${once}"`, 'g'))?.length,
        once === 'try' ? 2 : 1,
        'reported once, not at each restart',
      )
    }

    const second = folder.run('dev', 'sync.ts')
    await second.line('what was there', reconciled('added'))
    assert.equal((await (await west()).get(ConfigMap, copy))?.data?.['text'], 'here')
    await second.stop()
  }))
