/**
 * Measures what the page of `kubeloop dev --ui` costs: `node tests/bench/loop_page.ts [objects] [seconds]` runs an
 * operator with that many objects and 200 reconciles a second, each with a write, without the option, with it, and with
 * an open page, several times in turn.
 */
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder } from '../cli/dev_command.ts'
import { CHROMIUM, openPage } from '../cli/chromium.ts'

const [objects, seconds] = [Number(process.argv[2] ?? 5000), Number(process.argv[3] ?? 20)]
const PER_SECOND = 200
const ROUNDS = Number(process.argv[4] ?? 3)

const OPERATOR = `
import { defineResource, operator, predicates } from 'kubeloop'
import * as z from 'zod'
const Item = defineResource({ group: 'tests.kubeloop.dev', version: 'v1', kind: 'Item', spec: z.object({}), status: z.object({ seen: z.int() }) })
const app = operator({ name: 'items' })
app.controllerFor(Item, { when: predicates.generationChanged, concurrency: 4 }).reconcile(async (item, { client }) => {
  await client.setStatus(Item, item, { seen: (item.status?.seen ?? 0) + 1 })
  return { requeueAfter: '${objects / PER_SECOND}s' }
})
app.add('create', async ({ client, log }) => {
  const names = Array.from({ length: ${objects} }, (_, at) => \`item-\${at}\`)
  while (names.length > 0) {
    await Promise.all(names.splice(0, 50).map((name) => client.apply(Item, { metadata: { name, namespace: 'default' }, spec: {} })))
  }
  console.log(JSON.stringify({ level: 'info', message: \`created by \${process.pid}\` }))
})
await app.run(import.meta)
`

function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

async function measure(mode: 'without --ui' | 'with --ui' | 'with a page') {
  const folder = makeFolder()
  folder.write('operator.ts', OPERATOR)
  const command = folder.run('dev', 'operator.ts', '--no-workloads', ...(mode === 'without --ui' ? [] : ['--ui']))
  const link = mode === 'without --ui' ? undefined : await command.line('the link', ({ message }) => message === 'page')
  const created = await command.line('created', ({ message }) => message.startsWith('created by'))
  const pid = Number(created.message.split(' ').at(-1))
  const page = mode === 'with a page' ? await openPage(String(link!['url'])) : undefined
  await page?.until(`document.getElementById('objects-title').textContent === 'Objects (${objects})'`)
  await sleep(5000)
  const busy = async (): Promise<number> => {
    const { metrics } = (await page?.send('Performance.getMetrics') ?? { metrics: [] }) as {
      metrics: { name: string; value: number }[]
    }
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0
  }
  // The command's own process is the parent of the operator's.
  const parent = Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[1])
  const runs = (): number => command.printed().split('"message":"reconcile"').length
  const before = [cpuOf(pid), cpuOf(parent), await busy(), runs(), performance.now()] as const
  await sleep(seconds * 1000)
  const after = [cpuOf(pid), cpuOf(parent), await busy(), runs(), performance.now()] as const
  const ms = after[4] - before[4]
  const part = (at: 0 | 1 | 2): number => (after[at] - before[at]) / ms * 1e5
  const rate = (after[3] - before[3]) / ms * 1000
  await page?.close()
  command.kill('SIGTERM')
  await command.ended
  await folder.remove()
  return { operator: part(0), command: part(1), page: part(2), rate }
}

const modes = ['without --ui', 'with --ui', ...(CHROMIUM ? ['with a page'] as const : [])] as const
const sums = new Map<string, Awaited<ReturnType<typeof measure>>[]>()
for (let round = 0; round < ROUNDS; round++) {
  for (const mode of modes) {
    const result = await measure(mode)
    sums.set(mode, [...sums.get(mode) ?? [], result])
    const { operator, command, page, rate } = result
    console.log(
      `${mode.padEnd(13)} operator ${operator.toFixed(1)} %, ${
        (operator / rate * 10).toFixed(2)
      } ms a reconcile  command ${command.toFixed(1)} %, ${
        (command / rate * 10).toFixed(2)
      } ms a reconcile  page's main thread ${page.toFixed(1)} %  ${rate.toFixed(0)} reconciles/s`,
    )
  }
}
