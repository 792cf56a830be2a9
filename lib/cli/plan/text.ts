/** Prints a plan for people. */
import type { Action } from '../../testing/mirror/difference.ts'
import { placeLine } from '../../runtime/os/source_place.ts'
import { askedLines } from '../rights/asked.ts'
import type { DryRun, Plan, PlannedChange } from './result.ts'

const PAST: Readonly<Record<Action, string>> = {
  create: 'to create',
  change: 'to change',
  delete: 'to delete',
  replace: 'to delete and create again',
  status: 'with another status',
}

export function planLines(plan: Plan): string[] {
  const failed = plan.failed.flatMap(({ what, error, place }) => [
    `failed   ${what}: ${error}`,
    ...(place === undefined ? [] : [placeLine(place)]),
  ])
  return [
    ...plan.changes.flatMap(changeLines),
    ...failed,
    ...plan.notes.map((note) => `note     ${note}`),
    ...askedLines(plan.rights ?? []),
    summaryOf(plan),
  ]
}

function changeLines(
  { action, kind, namespace, name, cluster, by, finalizers, dependents, diff, dryRun }: PlannedChange,
): string[] {
  const where = cluster === undefined ? '' : ` in ${cluster}`
  const key = namespace === undefined ? name : `${namespace}/${name}`
  const writers = by.map(({ controller, key }) => `controller ${controller}, ${key}`).join('; ')
  const head = `${action.padEnd(8)} ${kind} ${key}${where}   by ${writers || 'the start or a task'}`
  // All lines of a deleted object would say nothing more.
  const shown = action === 'delete' && !finalizers ? [] : diff
  return [
    head,
    ...shown.map((line) => `  ${line}`),
    ...(finalizers ? [`  waits for its finalizers: ${finalizers.join(', ')}`] : []),
    ...(dependents ? [`  the garbage collector deletes with it: ${dependents.join(', ')}`] : []),
    ...dryRunLines(dryRun).map((line) => `  ${line}`),
  ]
}

function dryRunLines(dryRun: DryRun): string[] {
  switch (dryRun.outcome) {
    case 'accepted':
      return []
    case 'changed':
      return ['the cluster would store something else:', ...dryRun.diff]
    case 'refused':
      return [`the cluster would refuse it: ${dryRun.message}`]
    case 'unchecked':
      return [`not tried by a dry run: ${dryRun.message}`]
  }
}

function summaryOf({ changes, failed, counts }: Plan): string {
  const some = Object.entries(PAST).flatMap(([action, text]) => {
    const count = changes.filter((each) => each.action === action).length
    return count === 0 ? [] : [`${count} ${text}`]
  })
  const refused = changes.filter(({ dryRun }) => dryRun.outcome === 'refused').length
  const parts = [
    some.length === 0 ? 'nothing to do' : some.join(', '),
    ...(refused > 0 ? [`${refused} that the cluster would refuse`] : []),
    ...(failed.length > 0 ? [`${failed.length} failed`] : []),
    ...(counts.unchanged > 0 ? [`${counts.unchanged} written without a difference`] : []),
    ...(counts.events > 0 ? [`${counts.events} Events and Leases`] : []),
  ]
  return `${parts.join('; ')}. Nothing was written.`
}

/** Returns the line for standard error: what was read and run. */
export function workLine({ counts: { read, requests, reconciles, dryRuns } }: Plan): string {
  return `objects read: ${read}, requests: ${requests}, reconciles: ${reconciles}, dry runs: ${dryRuns}`
}
