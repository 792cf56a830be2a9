/**
 * What the real server answers to drawn requests, as short hashes: of thousands of answers, their texts would be
 * megabytes. "-" stands for an answer in which the embedded API is known to differ.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { drawnAccess } from './access.ts'
import { drawnApplies } from './applies.ts'
import { drawnChanges, drawnUpdates } from './changes.ts'
import { Chance } from '../../tools/chance.ts'
import { drawnRules } from './rules.ts'
import { drawnSelections } from './selections.ts'
import type { Drawn, Server } from './server.ts'
import { drawnSessions } from './sessions.ts'

type Play = (server: Server, chance: Chance, seed: number) => AsyncIterable<Drawn>

export const GROUPS: Readonly<Record<string, { readonly play: Play; readonly seeds: number }>> = {
  access: { play: drawnAccess, seeds: 8 },
  applies: { play: drawnApplies, seeds: 20 },
  changes: { play: drawnChanges, seeds: 22 },
  rules: { play: drawnRules, seeds: 8 },
  selections: { play: drawnSelections, seeds: 5 },
  sessions: { play: drawnSessions, seeds: 28 },
  updates: { play: drawnUpdates, seeds: 16 },
}

export const FILE: URL = new URL('../recorded/drawn.json', import.meta.url)
export const DIFFERENT = '-'

export async function playOf(group: string, seed: number, server: Server): Promise<Drawn[]> {
  const all: Drawn[] = []
  for await (const drawn of GROUPS[group]!.play(server, new Chance(seed), seed)) all.push(drawn)
  return all
}

export function fingerprint({ answer }: Drawn): string {
  return createHash('sha256').update(answer).digest('base64url').slice(0, 3)
}

/** The recorded hashes, by `GROUP SEED`. */
export const RECORDED = JSON.parse(readFileSync(FILE, 'utf8')) as Readonly<Record<string, string>>

/** Asserts that a server answers as recorded. What is drawn depends on the samples: with others, record anew. */
export async function assertRecorded(group: string, seed: number, server: Server): Promise<void> {
  const wanted = RECORDED[`${group} ${seed}`]!.split(' ')
  const all = await playOf(group, seed, server)
  const wrong = all.find((each, at) => wanted[at] !== DIFFERENT && wanted[at] !== fingerprint(each))
  const title = `${group} ${seed}: not the recorded answer; if other requests are drawn now, run drawn/record.ts`
  assert.equal(wrong && `${wrong.request}: ${wrong.answer}`, undefined, title)
  assert.equal(all.length, wanted.length, title)
}
