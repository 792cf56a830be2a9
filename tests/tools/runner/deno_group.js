/**
 * Registers test files in one realm of Deno, which else evaluates all modules again for each file: half of its processor
 * time. Plain JavaScript, for tests/run.js.
 */
import { load } from './deno_test.js'

for (const path of Deno.args) await load(path)
