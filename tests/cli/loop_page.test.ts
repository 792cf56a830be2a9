/** Tests the page of `kubeloop dev --ui` with the real command in a headless Chromium. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { CHROMIUM, openPage, type Page } from './chromium.ts'
import { type Command, makeFolder, reconciled } from './dev_command.ts'

const skip = CHROMIUM ? false : 'there is no Chromium: install it, or set KUBELOOP_CHROMIUM to its program'

const MARKUP = '<img src=x onerror=alert(1)>'
const OPERATOR = `
import { operator } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
const app = operator({ name: 'copier' })
app.controllerFor(ConfigMap).owns(Secret)
  .reconcile(async (map, { client }) => {
    await client.apply(Secret, { metadata: { name: map.metadata.name }, stringData: { password: 'swordfish' } }, { owner: map })
    if (map.data?.fails) throw new Error(map.data.fails)
  })
await app.run(import.meta)
`
const project = makeFolder()
let [dev, page, url]: [Command, Page, string] = [undefined!, undefined!, '']
before(async () => {
  if (skip) return
  project.write('operator.ts', OPERATOR)
  project.write(
    'maps.yaml',
    ['a', 'b'].map((name) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name}, annotations: { note: '${MARKUP}' } }\n---\n`
    ).join(''),
  )
  dev = project.run('dev', 'operator.ts', '--apply', 'maps.yaml', '--ui', '--no-workloads')
  url = String((await dev.line('the link', ({ message }) => message === 'page'))['url'])
  page = await openPage(url)
})
after(async () => {
  await page?.close()
  await project.remove()
})

const text = (id: string): string => `document.getElementById('${id}').textContent`
const rows = (id: string): string => `[...document.querySelectorAll('#${id} .row')].map((row) => row.textContent)`
const click = (label: string): string =>
  `[...document.querySelectorAll('button')].find((each) => each.textContent === '${label}').click()`

test('objects are a tree below their owners, which arrow keys move in, fold and open', { skip }, async () => {
  await page.until(`${text('objects-title')} === 'Objects (4)' && ${rows('runs')}.length >= 4`)
  assert.deepEqual(await page.evaluate(rows('objects')), [
    '▾ ConfigMap default/a ',
    '  Secret default/a ',
    '▾ ConfigMap default/b ',
    '  Secret default/b ',
  ])
  await page.evaluate(`document.getElementById('objects').focus()`)
  const active = `document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))`
  const seen: unknown[] = []
  for (const key of ['ArrowDown', 'ArrowLeft', 'ArrowLeft', 'End', 'Home', 'ArrowRight', 'ArrowRight', 'Enter']) {
    await page.press(key)
    await page.until('true')
    seen.push(
      await page.evaluate(
        `['aria-level', 'aria-posinset', 'aria-setsize', 'aria-expanded'].map((name) => ${active}.getAttribute(name)).join()`,
      ),
    )
  }
  assert.deepEqual(seen, [
    '2,2,4,',
    '1,1,4,true',
    '1,1,3,false',
    '2,3,3,',
    '1,1,3,false',
    '1,1,4,true',
    '2,2,4,',
    '2,2,4,',
  ])
  await page.until(`${text('details')}.includes('"password": "(hidden)"')`)
  assert.equal(await page.evaluate(`getComputedStyle(${active}).outlineStyle`), 'solid')
  assert.deepEqual(await page.evaluate(`[${active}.role, ${active}.parentElement.parentElement.role]`), [
    'treeitem',
    'tree',
  ])
})

test(
  'a run leads to its cause and its writes, and those to the runs that they caused; nothing is markup',
  { skip },
  async () => {
    await page.evaluate(
      `[...document.querySelectorAll('#runs .row')].findLast((row) => row.textContent.includes('added')).click()`,
    )
    await page.until(`${text('details')}.includes('Wrote: apply Secret') && ${text('details')}.includes('This caused')`)
    const details = await page.evaluate<string>(text('details'))
    assert.match(details, /caused by/)
    assert.match(details, /\+ data\.password: \(hidden\)/)
    await page.evaluate(click('difference'))
    await page.until(`${text('details')}.includes('onerror=alert(1)')`)
    assert.equal(await page.evaluate(`document.images.length + document.querySelectorAll('#details b').length`), 0)
    const wire = await (await fetch(`${url}object?id=x`)).text() +
      await page.evaluate<string>('document.body.textContent')
    assert.doesNotMatch(wire, /swordfish|c3dvcmRmaXNo/)
  },
)

test(
  'all keys or one are paused, stepped and replayed, also over a save; the page stays connected',
  { skip },
  async () => {
    const client = await project.client()
    const held = `document.querySelector('#queues td:last-child').textContent`
    await page.evaluate(click('Pause all'))
    await page.until(`${text('status')} === 'Paused: runs are held'`)
    project.write('operator.ts', `${OPERATOR}// saved\n`)
    await dev.line('restarted', ({ message }) => message === 'restarted')
    await page.until(`${held} === '2'`)
    // What the run writes may queue its key again, which is then held again.
    const runs = await page.evaluate<string>(text('runs-title'))
    await page.evaluate(click('Step'))
    await page.until(`${text('runs-title')} !== '${runs}' && ${text('status')}.startsWith('Paused')`)
    await page.evaluate(click('Resume all'))
    await page.until(`${held} === '0' && ${text('status')} === 'Live'`)
    await page.evaluate(
      `[...document.querySelectorAll('#objects .row')].find((row) => row.textContent.includes('ConfigMap default/a')).click()`,
    )
    await page.until(
      `${text('details')}.startsWith('ConfigMap default/a') && ${text('details')}.includes('"apiVersion"')`,
    )
    await page.evaluate(click('Pause key'))
    await page.until(`${text('details')}.includes('Resume key')`)
    for (const name of ['a', 'b']) {
      await client.patch(ConfigMap, { name, namespace: 'default' }, {
        merge: { data: { fails: `${MARKUP} of ${name}` } },
      })
    }
    await dev.line('b fails', (line) => line['key'] === 'default/b' && line['outcome'] === 'error')
    await page.until(`${held} === '1' && ${text('failures')}.includes('of b')`)
    assert.equal(await page.evaluate(`${text('failures')}.includes('of a')`), false)
    await page.evaluate(click('Replay key'))
    const replayed = await dev.line('the replay', reconciled('replay'))
    assert.deepEqual([replayed['key'], replayed['outcome']], ['default/a', 'error'])
    await page.until(`${text('failures')}.includes('operator.ts:') && ${text('failures')}.includes('throw new Error')`)
    assert.equal(await page.evaluate('document.images.length'), 0)
    await page.evaluate(click('Resume key'))
    for (const name of ['a', 'b']) {
      await client.patch(ConfigMap, { name, namespace: 'default' }, { merge: { data: { fails: null } } })
    }
    await page.until(`${text('failures-title')} === 'Failures (0 now)' && ${text('failures')}.includes('works again')`)
    assert.equal((await client.get(Secret, { name: 'a', namespace: 'default' }))?.metadata.name, 'a')
  },
)

test(
  'all that is needed has the keyboard and a name, and texts have a contrast of 4.5 in light and dark',
  { skip },
  async () => {
    await page.evaluate(`document.getElementById('filter').focus()`)
    const order: string[] = []
    for (let at = 0; at < 4; at++) {
      await page.press('Tab')
      order.push(await page.evaluate('document.activeElement.id'))
    }
    assert.deepEqual(order, ['pause', 'step', 'objects', 'runs'])
    const unnamed =
      `[...document.querySelectorAll('button, input, [role]')].filter((each) => each.tabIndex >= 0 && !(each.textContent || each.labels?.length || each.getAttribute('aria-labelledby') || each.getAttribute('aria-label'))).length`
    assert.equal(await page.evaluate(unnamed), 0)
    for (const scheme of ['light', 'dark']) {
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] })
      const [worst, back] = await page.evaluate<[number, string]>(`(${contrast})()`)
      assert.ok(worst >= 4.5, `${scheme}: ${worst}`)
      assert.equal(back, scheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(21, 24, 28)')
    }
    assert.deepEqual(page.errors, [])
  },
)

/** Returns the lowest contrast of all texts of the page with what is behind them, and the color of the page. */
const contrast = `() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number)
  const light = (color) => {
    const [r, g, b] = parse(color).map((each) => each / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (element) => {
    const color = getComputedStyle(element).backgroundColor
    return parse(color)[3] === 0 ? behind(element.parentElement) : color
  }
  const all = [...document.querySelectorAll('body *')].filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  const ratios = all.map((each) => {
    const [a, b] = [light(getComputedStyle(each).color), light(behind(each))].sort((a, b) => b - a)
    return (a + 0.05) / (b + 0.05)
  })
  return [Math.min(...ratios), getComputedStyle(document.body).backgroundColor]
}`

test('the page has no markup of its data, no style or script within, and no other origin; its types are right', () => {
  const folder = join(import.meta.dirname, '../../lib/cli/dev/page')
  const files = ['page.html', 'page.css', 'page.js'].map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
  assert.doesNotMatch(
    files,
    /https?:|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|<script>|style="|\son\w+="/,
  )
  const flags =
    '--ignoreConfig --allowJs --checkJs --noEmit --strict --noImplicitAny false --target es2024 --module esnext'
  const lib = ['--lib', 'es2024,dom,dom.iterable', '--types', '']
  const args = ['node_modules/typescript7/bin/tsc', ...flags.split(' '), ...lib, join(folder, 'page.js')]
  const { status, stdout } = spawnSync('node_modules/.bin/node', args, { encoding: 'utf8' })
  assert.equal(status, 0, stdout)
})
