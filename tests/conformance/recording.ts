/**
 * Cases that state requests only: a real server's answers stand in recorded/, one line a step.
 * Both servers are compared with them, so a recording cannot go stale. record.ts writes them.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Api, Case } from './api.ts'
import { OTHER_ANSWERS } from './differences.ts'

/** Plays the steps of a case and yields a line for each. */
type Play = (api: Api) => AsyncIterable<string>

export interface RecordedCase extends Case {
  /** The name of the file in recorded/. */
  readonly group: string
  readonly play: Play
}

export const FOLDER = new URL('./recorded/', import.meta.url)

const recordings = new Map<string, ReadonlyMap<string, readonly string[]>>()

/** Returns the lines of the cases of a group by their names. */
function recordingOf(group: string): ReadonlyMap<string, readonly string[]> {
  const known = recordings.get(group) ?? parse(readFileSync(new URL(`${group}.txt`, FOLDER), 'utf8'))
  recordings.set(group, known)
  return known
}

/** Sections begin with `# ` and the name of the case. */
function parse(text: string): ReadonlyMap<string, readonly string[]> {
  return new Map(
    text.split(/^# /m).slice(1).map((section): [string, readonly string[]] => {
      const [name, ...lines] = section.replace(/\n+$/, '').split('\n')
      return [name!, lines]
    }),
  )
}

export function format(sections: Iterable<readonly [name: string, lines: readonly string[]]>): string {
  return Array.from(sections, ([name, lines]) => [`# ${name}`, ...lines].join('\n')).join('\n\n') + '\n'
}

/** Returns a line of a recording. */
export function lineOf(request: string, answer: string): string {
  return `${request} => ${answer}`.replaceAll('\n', '\\n')
}

/** Returns a case that compares its lines with the recorded ones. The first difference ends it. */
export function recordedCase(group: string, name: string, play: Play): RecordedCase {
  return {
    group,
    name,
    play,
    async run(api) {
      const expected = recordingOf(group).get(name)
      assert.ok(expected, `the case is not recorded: run node tests/conformance/record.ts ${group}`)
      let index = 0
      for await (const line of play(api)) {
        const recorded: string | undefined = expected[index++]
        assert.equal(line, api.isEmbedded ? embeddedLine(recorded) : recorded, `step ${index} of the case`)
      }
      assert.equal(index, expected.length, 'the recording has other steps')
    },
  }
}

/** Returns what the embedded API answers where the real server answers this. */
function embeddedLine(recorded: string | undefined): string | undefined {
  const other = OTHER_ANSWERS.find(({ line }) => recorded?.endsWith(line))
  return other ? recorded!.slice(0, -other.line.length) + other.embedded : recorded
}
