/** Reads what an operator asked for in its tests or under `kubeloop dev`. */
import { firstOf, messageOf } from '../../core/errors.ts'
import { readText } from '../../runtime/os/files.ts'
import { filesIn } from '../../runtime/os/user_files.ts'
import type { AskedPath, AskedRight, RecordLine } from '../../testing/rights_recorder.ts'

/** What one operator asked for in one cluster. */
export interface RightsRecord {
  readonly rights: readonly AskedRight[]
  readonly paths: readonly AskedPath[]
  /** The names and namespaces of reconciled objects, in any cluster. */
  readonly reconciled: ReadonlySet<string>
}

/** @throws Error if a folder is missing, a file is not a record, or there is none of the operator. */
export async function readRecord(
  folders: readonly string[],
  operator: string,
  cluster: string | undefined,
): Promise<RightsRecord> {
  const cannot = `Cannot read the record in ${folders.join(' and ')}`
  const remedy = `run the operator's tests with KUBELOOP_RIGHTS=${folders[0]}, or kubeloop dev`
  const lines: RecordLine[] = []
  for (const folder of folders) {
    const files = await filesIn(folder, '.jsonl')
    if (!files) throw new Error(`Cannot read the record in ${folder}: there is no such folder; ${remedy}`)
    for (const file of files) lines.push(...linesOf(await readText(file), file))
  }
  const own = lines.filter((line) => line.operator === operator)
  if (own.length === 0) {
    const others = [...new Set(lines.map((line) => `"${line.operator}"`))].sort()
    const what = others.length > 0 ? `, but of ${firstOf(others, 5).join(', ')}` : ''
    throw new Error(`${cannot}: it has no request of the operator "${operator}"${what}; ${remedy}`)
  }
  return {
    rights: own.filter((line) => 'resource' in line).filter((line) => line.cluster === cluster),
    paths: own.filter((line) => 'path' in line).filter((line) => line.cluster === cluster),
    reconciled: new Set(own.flatMap((line) => 'reconciled' in line ? line.reconciled.split('/') : [])),
  }
}

function linesOf(text: string, file: string): RecordLine[] {
  return text.split('\n').filter((line) => line !== '').map((line, at) => {
    try {
      const read = JSON.parse(line) as Partial<RecordLine> | null
      if (typeof read?.operator === 'string') return read as RecordLine
      throw new TypeError('it names no operator')
    } catch (cause) {
      const what = `line ${at + 1} is not one of a record (${messageOf(cause)})`
      throw new Error(`Cannot read ${file}: ${what}; remove the folder, and record again`, { cause })
    }
  })
}
