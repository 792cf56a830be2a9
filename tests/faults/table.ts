/** Runs rows one after the other, and makes the table of their outcomes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Namespace } from '../../lib/kinds/mod.ts'
import { laneOf, type Runtime } from './lane.ts'
import { startPlane } from './plane.ts'
import { LEADS, printed, restart, type Row, runRow } from './row.ts'

export async function runTable(rows: readonly Row[], runtimes: readonly Runtime[]) {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-lanes-'))
  const plane = await startPlane()
  const lanes = runtimes.map((runtime) => laneOf(runtime, folder, plane.kubeconfig()))
  const stage = { plane, lanes, folder }
  const lines = [`| fault | ${runtimes.join(' | ')} | outcome |`, `|${' --- |'.repeat(runtimes.length + 2)}`]
  const problems: string[] = []
  const add = (name: string, cells: readonly string[], outcome: string): void => {
    lines.push(`| ${[name, ...cells, outcome].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    console.log(lines.at(-1))
  }
  try {
    for (const { namespace } of lanes) await plane.envtest.client.create(Namespace, { metadata: { name: namespace } })
    for (const row of rows) {
      const why = row.skip?.(stage)
      if (why !== undefined) {
        console.log(`SKIPPED: ${row.name}: ${why}`)
        add(row.name, runtimes.map(() => ''), `skipped: ${why}`)
        continue
      }
      plane.lead('server')
      // Every row begins with processes of its own, as back-offs outlive a fault.
      await restart(stage)
      await printed(stage, LEADS)
      const outcomes = await runRow(row, stage)
      const codes = await Promise.all(lanes.map((lane) => lane.stop()))
      const wrong = outcomes.flatMap(({ lane, problems }, i) =>
        [
          ...problems,
          ...codes[i]!.filter((code) => code !== 0).map((code) => `a stopped process ended with ${code}`),
        ].map((each) => `${row.name}: ${lane.runtime}: ${each}`)
      )
      add(row.name, outcomes.map(({ text }) => text), wrong.length > 0 ? 'WRONG' : 'right')
      for (const each of wrong) console.log(`    ${each}`)
      problems.push(...wrong)
      if (wrong.length > 0 && process.env['FAULTS_OUTPUT']) { for (const { output } of lanes) console.log(output) }
    }
  } finally {
    await Promise.all(lanes.map((lane) => lane.stop()))
    await plane.close()
    rmSync(folder, { recursive: true })
  }
  return { table: `${lines.join('\n')}\n`, problems }
}
