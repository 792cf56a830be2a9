/** The table of log lines in docs/log-lines.md has every line of lib, and no others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageText } from '../tools/docs.ts'
import { readTree } from '../tools/tree.ts'
import { allMessages, logCalls, parse } from './log_lines.ts'

/** Folders whose lines an operator in a cluster does not print, and generated files. */
const EXCLUDED = /^lib\/(?:cli|apiserver|testing|simcluster|kinds)\//

/**
 * Calls that pass on a message made elsewhere, by file: what it can be, as far as rows of the table have it. The errors
 * that a start or a stop ends with are the rows of the runbook.
 */
const INDIRECT: Readonly<Record<string, readonly string[]>> = {
  'lib/controller/reconciler.ts': ['… was reconciled …'],
  'lib/controller/source.ts': ['Controller … no longer waits …', 'Cannot close the stream of the source …'],
  'lib/events/dropped_events.ts': ['Dropping events: too many wait …', 'Dropping events: too many different …'],
  'lib/events/event_recorder.ts': ['Cannot record an event: …'],
  'lib/manager/manager.ts': ['Cannot renew … for …', 'Cannot renew …: "…" holds it now'],
  'lib/observe/log.ts': [],
  'lib/operator/sharding/buckets.ts': [],
  'lib/operator/run/run.ts': ['Cannot start: …', 'Cannot sync …'],
  'lib/operator/webhooks/handlers.ts': ['Converting … loses …'],
  'lib/operator/webhooks/lease.ts': ['Cannot renew … for …', 'Cannot renew …: "…" holds it now'],
  'lib/webhook/admission/admission_handler.ts': ['Cannot …: the API server stopped waiting…', '… threw an ApiError…'],
  'lib/webhook/configurations/configuration_differences.ts': [
    'There is no …, so the API server …',
    'The webhook "…" of … …: apply …',
  ],
  'lib/webhook/configurations/leftovers.ts': ['… "…" is of an earlier release, …'],
  'lib/webhook/server/server_lines.ts': ['A webhook failed: …', 'The webhook "…" failed: …'],
}

interface Row {
  readonly line: string
  readonly level: string
  readonly pattern: RegExp
}

const rows: readonly Row[] = [...pageText('docs/log-lines.md').matchAll(/^\| `([^`]+)` \| (info|warn|error) \|/gm)]
  .map(([, line, level]) => ({ line: line!, level: level!, pattern: patternOf(line!) }))

const sources = [...readTree(['lib'], /\.ts$/)].filter(([path]) => !EXCLUDED.test(path))
  .map(([path, text]) => ({ path, source: parse(path, text) }))
const calls = sources.flatMap(({ path, source }) => logCalls(source).map((call) => ({ path, ...call })))

function patternOf(text: string): RegExp {
  return new RegExp(`^${text.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.+')}$`)
}

function isNamed(message: string): boolean {
  return message.replaceAll(/[^a-z]/gi, '').length >= 5
}

test('every line that an operator logs is a row of the table, with its level', () => {
  assert.ok(calls.length >= 80, `only ${calls.length} calls were found`)
  const missing = calls.filter(({ messages }) => messages.some(isNamed))
    .filter(({ level, messages }) => !rows.some((row) => row.level === level && messages.includes(row.line)))
  assert.deepEqual(missing.map(({ path, line, level, messages }) => `${path}:${line} ${level}: ${messages[0]}`), [])
})

test('calls whose line is made elsewhere are known, and rows have their lines', () => {
  const found = calls.filter(({ messages }) => !messages.some(isNamed)).map(({ path }) => path)
  assert.deepEqual([...new Set(found)].toSorted(), Object.keys(INDIRECT).toSorted())
  const lines = Object.values(INDIRECT).flat()
  assert.deepEqual(lines.filter((line) => !rows.some((row) => patternOf(line).test(row.line))), [])
})

test('every row is a line of the sources', () => {
  assert.ok(rows.length >= 80, `only ${rows.length} rows were found`)
  // Some texts are followed by the message of an error where they are logged.
  const inSources = [...new Set(sources.flatMap(({ source }) => [...allMessages(source)]))].filter(isNamed)
    .flatMap((message) => [message, `${message}: …`])
  assert.deepEqual(rows.map(({ line }) => line).filter((line) => !isNamed(line)), [], 'too vague to be found')
  assert.deepEqual(
    rows.filter(({ pattern, line }) => isNamed(line) && !inSources.some((message) => pattern.test(message)))
      .map(({ line }) => line),
    [],
  )
  assert.equal(new Set(rows.map(({ line }) => line)).size, rows.length, 'a line stands twice')
})

test('the lines of the runbook are rows of the table', () => {
  const shown = [...pageText('docs/operating.md').matchAll(/^```text\n([^]*?)^```$/gm)].flatMap(([, text]) =>
    text!.trimEnd().split('\n')
  ).filter((line) => !line.startsWith('Error from server'))
  assert.ok(shown.length >= 20, `only ${shown.length} lines were found`)
  // A row such as `Cannot …: …` says nothing about a line.
  const specific = rows.filter(({ line }) => line.replaceAll(/[^a-z]/gi, '').length >= 9)
  const unknown = shown.filter((line) => {
    const [, level = 'info', message] = /^(?:(warn|error): )?(.+)$/.exec(line)!
    return !specific.some((row) => row.level === level && row.pattern.test(message!))
  })
  assert.deepEqual(unknown, [])
})
