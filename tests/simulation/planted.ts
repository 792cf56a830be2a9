/**
 * Tests the simulation: plants bugs in the library, one at a time, and runs seeds until one fails.
 *
 *   npm run simulate:planted [-- NAME… --seeds 1000 --jobs 2]
 *
 * A bug that no seed finds is printed; the exit code is their number.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { endAll, run } from '../tools/runner/processes.js'
import { ROOT } from '../tools/tree.ts'

/** The lines `from` become `to` in the file. */
const BUGS: readonly (readonly [name: string, file: string, from: string, to: string])[] = [
  [
    'a deletion in a watch is dropped',
    'cache/reflector',
    'this.#options.apply(event, resourceVersion)',
    "if (event.kind !== 'deleted') this.#options.apply(event, resourceVersion)",
  ],
  [
    'every ninth event is dropped',
    'cache/reflector',
    'this.#options.apply(event, resourceVersion)',
    'if (this.#options.random() > 0.1) this.#options.apply(event, resourceVersion)',
  ],
  [
    'a list drops no objects',
    'cache/store',
    'if (!objects.has(key)) deltas.push({',
    'if (!objects.has(key) && objects.size < 0) deltas.push({',
  ],
  [
    'a list reports no changes',
    'cache/store',
    'else noteChange(old, object, initial, deltas)',
    'else if (!old) noteChange(old, object, initial, deltas)',
  ],
  [
    'no list follows a 410',
    'cache/watch_state',
    'if (!isBlind && canBeReopened(error, accepted)) {',
    'if (!isBlind) {',
  ],
  [
    'the last seen version is forgotten',
    'cache/watch_state',
    'if (!state.afterGone && !state.silent) return { ...state, resourceVersion }',
    'if (!state.afterGone && !state.silent) return state',
  ],
  [
    'the mark of a key in work is lost',
    'queue/queue_state',
    'table.status[slot] = known === undefined ? WAITING : AGAIN',
    'table.status[slot] = known === undefined ? WAITING : WORKING',
  ],
  [
    'a key in work is not queued again',
    'queue/queue_state',
    'if (table.status[slot] === AGAIN) {\n      table.status[slot] = WAITING',
    'if (table.status[slot] === NONE) {\n      table.status[slot] = WAITING',
  ],
  [
    'a key is handed out twice',
    'queue/queue_state',
    'const slot = known ?? table.add(key)',
    'const slot = known ?? table.add(key)\n    if (known !== undefined) { unlink(table.byAge, this.#working, slot); table.status[slot] = WAITING; table.priority[slot] = priority; table.addedMs[slot] = nowMs; this.#order.enter(slot); return true }',
  ],
  [
    'delayed keys are dropped',
    'queue/queue_state',
    'if (this.add(due.key, due.priority, nowMs)) turns++',
    'if (due.priority > 0 && this.add(due.key, due.priority, nowMs)) turns++',
  ],
  [
    'failures are not retried',
    'controller/reconciler',
    'const decided = disposition(end.outcome)',
    "const decided = end.outcome.kind === 'threw' ? disposition({ kind: 'returned', result: undefined } as never) : disposition(end.outcome)",
  ],
  [
    'the old owner of an object is not mapped',
    'controller/event_mapper',
    "if (!waits && delta.kind === 'updated') first.push(this.#call(delta.old, delta))",
    '',
  ],
  [
    'deletions of owned objects are not mapped',
    'controller/event_mapper',
    'if (this.#options.map === ownKey && this.#report([eventKey(delta)], delta)) return',
    "if (delta.kind === 'deleted' && this.#options.map !== ownKey) return\n    if (this.#options.map === ownKey && this.#report([eventKey(delta)], delta)) return",
  ],
  [
    'a lease is taken early',
    'leader/lease_state',
    'nowMs >= expiresAtMs(observation)\n',
    'nowMs >= expiresAtMs(observation) - 9000\n',
  ],
  [
    'a lease is taken from its holder',
    'leader/lease_state',
    'return !holderIdentity || holderIdentity === identity || nowMs',
    'return !holderIdentity || holderIdentity !== identity || nowMs',
  ],
  ['the fence never falls', 'leader/lease_fence', 'if (this.#leftMs() > 0) return true', 'return true'],
  [
    'controllers write without a fence',
    'operator/assemble',
    'clientsOf(clusters, everyReplica ? undefined : manager.fence, writer)',
    'clientsOf(clusters, undefined, writer)',
  ],
  [
    'a lease is released before the work ends',
    'leader/leader_elector',
    'await this.#release(mayRelease() ? settled ? undefined : LATE_WRITE : UNFINISHED_WORK)',
    'await this.#release(undefined)',
  ],
  [
    'a namespace for all others has all',
    'cache/cache_options',
    "return { ...kept, fields: [kept.fields, ...rest].filter(Boolean).join(',') || undefined, namespace: undefined }",
    'return { ...kept, namespace: undefined }',
  ],
  [
    'a namespace has not its own labels',
    'cache/cache_options',
    'const kept = firstOf([ownSpaces?.get(namespace) ?? {}, own,',
    'const kept = firstOf([own,',
  ],
  [
    'field selectors are not sent',
    'cache/reflector',
    'const query = { labels, fields,',
    'const query = { labels, fields: fields && undefined,',
  ],
  [
    '`every` ignores the filter',
    'operator/sources',
    "if (passes({ kind: 'added', object, initial: true })) found.push(keyOf(object))",
    'found.push(keyOf(object))',
  ],
  [
    'stripped objects bear no mark',
    'cache/prepare_object',
    'Object.assign((markPartial(object) as { metadata: object }).metadata ??= {}, kept)',
    'Object.assign((object as { metadata: object }).metadata ??= {}, kept)',
  ],
  [
    'reads are older than own writes',
    'cache/own_writes_state',
    'const object = own && this.#isAhead(own) ? own.object : stored',
    'const object = own && !this.#isAhead(own) ? own.object : stored',
  ],
  [
    'an answer of a write counts for all watches',
    'cache/own_writes_state',
    'return isNewerVersion(version, this.#seen)\n  }\n\n  /**\n   * Drops',
    'return true\n  }\n\n  /**\n   * Drops',
  ],
  [
    'a finalizer is not removed',
    'controller/finalizer',
    ".flatMap((path): PatchOperation[] => [{ op: 'test', path, value: finalizer }, { op: 'remove', path }])",
    ".flatMap((path): PatchOperation[] => [{ op: 'test', path, value: finalizer }])",
  ],
  [
    'objects in deletion need to pass the filter',
    'controller/finalizer',
    'return when && ((now, before, change) => needsCleanup(now, change.kind, finalizer) || when(now, before, change))',
    'return when',
  ],
  [
    'one writer of a status drops the conditions of another',
    'client/status_merge',
    'if (!wanted.has(key)) return base.has(key) ? [] : [theirs]',
    'if (!wanted.has(key)) return []',
  ],
  [
    'an apply that was sent is never sent again',
    'client/apply_cache',
    'known.startsWith(applyOf(desired, current)) && known.endsWith(this.#contentOf(current))',
    'known.startsWith(applyOf(desired, current))',
  ],
  ['a task is not started again', 'operator/tasks', 'await sleep(clock, waitMs, signal)\n    }', 'return\n    }'],
  [
    'a lost answer ends a watch for ever',
    'cache/reflector',
    "return { kind: 'waited' }",
    'return await new Promise<never>(() => {})',
  ],
  [
    'work of the other cluster goes to the own',
    'operator/clusters',
    'const client = clients(cluster)\n',
    'const client = clients(undefined)\n',
  ],
  ['the timer of a run is not cancelled', 'controller/reconciler', '    stopTimer?.()\n', ''],
  // Faults of two options that meet, which earlier versions had.
  [
    '`read: live` lists what the kind does not select',
    'cache/cached_reader',
    'const informers = responsible(this.#cache.informersOf(resource) ?? [], options.namespace)',
    'const informers = responsible([], options.namespace)',
  ],
  [
    '`read: live` gets what the kind does not select',
    'cache/cached_reader',
    'return object && informer.selects(object.metadata) ? object : undefined',
    'return object',
  ],
  [
    'keys of other namespaces run',
    'controller/controller',
    'if (namespace !== undefined && !namespaces!.has(namespace)) {',
    'if (namespace === undefined && !namespaces!.has(namespace!)) {',
  ],
  [
    'two controllers write as one field manager',
    'operator/clusters',
    'of.client.as(writer.name, writer.fieldManager)',
    'of.client.as(writer.name, undefined)',
  ],
  [
    'one object that cannot be stripped ends its watch',
    'cache/prepare_object',
    '  } catch (error) {\n    onError(error)\n',
    '  } catch (error) {\n    onError(error)\n    throw error\n',
  ],
  [
    'a stream that ends is not opened again',
    'controller/stream_source',
    'if (end === DONE) return',
    'if (end !== 0) return',
  ],
  [
    'a warm-up opens streams',
    'controller/source_set',
    'return this.#isStarted || source.warms === true',
    'return true',
  ],
  [
    'a new leader starts on caches of before',
    'cache/cache',
    'await Promise.race([informer.caughtUp(limited), informer.ended])',
    'await Promise.race([Promise.resolve(limited), informer.ended])',
  ],
]

const COPIED = ['lib', 'tests', 'mod.ts', 'package.json', 'tsconfig.json']
const LIMIT_MS = 1_800_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seeds: { type: 'string', default: '1000' }, jobs: { type: 'string', default: '2' } },
})
process.on('exit', () => endAll('SIGTERM'))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

const queue = BUGS.filter(([name]) => positionals.length === 0 || positionals.some((part) => name.includes(part)))
const missed: string[] = []

/** Returns the first seed that fails, with its problems. */
async function firstFailing(folder: string): Promise<string | undefined> {
  const args = ['tests/simulation/simulate.ts', '--seeds', values.seeds, '--whole']
  const { code, output } = await run(process.execPath, args, { cwd: folder, env: process.env, limit: LIMIT_MS })
  if (code === 0) return undefined
  const [, seed, problems] = /^Seed (\d+) fails: (.*)$/m.exec(output) ?? []
  return seed ? `seed ${seed} (${problems!.slice(0, 100)})` : `exit code ${code} (${output.slice(-300)})`
}

async function work(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-planted-'))
  try {
    for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    for (let bug = queue.shift(); bug; bug = queue.shift()) {
      const [name, file, from, to] = bug
      const path = `lib/${file}.ts`
      const text = readFileSync(join(ROOT, path), 'utf8')
      if (text.split(from).length !== 2) throw new Error(`The line of "${name}" is not once in ${path}`)
      writeFileSync(join(folder, path), text.replace(from, () => to))
      const found = await firstFailing(folder)
      console.log(`${found ?? 'NOT FOUND'}: ${name}`)
      if (found === undefined) missed.push(name)
      writeFileSync(join(folder, path), text)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

console.log(`without a bug: ${(await firstFailing(ROOT)) ?? 'no seed fails'}`)
await Promise.all(Array.from({ length: Number(values.jobs) }, work))
console.log(`${missed.length} not found`)
process.exit(Math.min(missed.length, 100))
