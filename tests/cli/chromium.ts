/** Drives a headless Chromium by its DevTools protocol, over the WebSocket that all runtimes have. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/snap/bin/chromium']

/** The program; undefined if there is none. */
export const CHROMIUM: string | undefined = process.env['KUBELOOP_CHROMIUM'] ?? PATHS.find((path) => existsSync(path))

export interface Page {
  send(method: string, params?: object): Promise<Record<string, unknown>>
  /** Evaluates an expression, which may be a promise, and returns its JSON value. */
  evaluate<T>(expression: string): Promise<T>
  /** Resolves when the expression is true, which is asked for after each frame of the page, from the second on. */
  until(expression: string): Promise<void>
  press(key: string, modifiers?: number): Promise<void>
  /** What the page has logged as errors, and the errors that it has thrown. */
  readonly errors: readonly string[]
  close(): Promise<void>
}

export async function openPage(url: string, { width = 1280, height = 800 } = {}): Promise<Page> {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-chromium-'))
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0', '--hide-scrollbars']
  const args = [...flags, '--disable-dev-shm-usage', `--window-size=${width},${height}`, `--user-data-dir=${folder}`]
  const browser = spawn(CHROMIUM!, [...args, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = new Promise<void>((resolve) => browser.once('exit', () => resolve()))
  let address: string | undefined
  for await (const line of createInterface({ input: browser.stderr })) {
    address = /DevTools listening on (ws:\S+)/.exec(line)?.[1]
    if (address) break
  }
  assert.ok(address, `${CHROMIUM} has ended before it listened`)
  const socket = new WebSocket(address)
  const waiting = new Map<number, { resolve(value: Record<string, unknown>): void; reject(error: Error): void }>()
  const errors: string[] = []
  let onLoad = (): void => {}
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error, method, params } = JSON.parse(String(data))
    if (error) waiting.get(id)?.reject(new Error(error.message))
    else if (id !== undefined) waiting.get(id)?.resolve(result)
    else if (method === 'Page.loadEventFired') onLoad()
    else if (method === 'Runtime.exceptionThrown') errors.push(JSON.stringify(params.exceptionDetails))
    else if (method === 'Log.entryAdded' && params.entry.level === 'error') errors.push(params.entry.text)
  })
  await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }))
  let lastId = 0
  const session: { sessionId?: string } = {}
  const send: Page['send'] = (method, params = {}) =>
    new Promise((resolve, reject) => {
      waiting.set(++lastId, { resolve, reject })
      socket.send(JSON.stringify({ id: lastId, method, params, ...session }))
    })
  const { targetInfos } = await send('Target.getTargets') as { targetInfos: { type: string; targetId: string }[] }
  // A page of a new tab could be in the background, with a frame a second.
  const { targetId } = targetInfos.find(({ type }) => type === 'page')!
  const attached = await send('Target.attachToTarget', { targetId, flatten: true })
  session.sessionId = String(attached['sessionId'])
  for (const domain of ['Page', 'Runtime', 'Log', 'Performance']) await send(`${domain}.enable`)
  await send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })
  const loaded = new Promise<void>((resolve) => (onLoad = resolve))
  await send('Page.navigate', { url })
  await loaded
  const evaluate = async <T>(expression: string): Promise<T> => {
    const call = { expression, awaitPromise: true, returnByValue: true }
    const { result, exceptionDetails } = await send('Runtime.evaluate', call) as Record<string, { value?: T }>
    if (exceptionDetails) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`)
    return result?.value as T
  }
  return {
    send,
    evaluate,
    errors,
    async until(expression) {
      const ask = `const ask = () => { try { if (${expression}) return done() } catch {} requestAnimationFrame(ask) }`
      const frames = `new Promise((done) => { ${ask}; requestAnimationFrame(() => requestAnimationFrame(ask)) })`
      await evaluate(frames)
    },
    async press(key, modifiers = 0) {
      const event = { key, code: key, modifiers, windowsVirtualKeyCode: { Tab: 9, Enter: 13 }[key] ?? 0 }
      await send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...event })
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event })
    },
    async close() {
      socket.close()
      browser.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
