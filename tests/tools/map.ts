/** Writes the map of lib into docs/architecture.md: `node tests/tools/map.ts`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { JOBS, mapOf } from '../structure/rooms.ts'
import { ROOT } from './tree.ts'

const path = join(ROOT, 'docs/architecture.md')
const [before, , after] = readFileSync(path, 'utf8').split(/(\| row \| folder \| job \|\n(?:\|.*\n)+)/)
if (after === undefined) throw new Error(`There is no table "row, folder, job" in ${path}. Add its head line.`)
writeFileSync(path, `${before}${mapOf(JOBS)}\n${after}`)
