/** `kubeloop new FILE`: the sample operator and its test, for a start. */
import { exists } from '../runtime/files.ts'
import { writeLine } from '../runtime/terminal.ts'
import { fileName, writeNew } from '../runtime/user_files.ts'
import { SAMPLE_OPERATOR, sampleTest } from './sample.ts'

/** @throws Error when one of the files exists; nothing is written then. */
export async function newOperator(file: string): Promise<void> {
  const match = /^(.*)\.ts$/.exec(file)
  if (!match || /\.(test|d)\.ts$/.test(file)) {
    throw new Error(`Cannot write ${file}: an operator is a TypeScript file, as in "kubeloop new operator.ts"`)
  }
  const testFile = `${match[1]}.test.ts`
  for (const each of [file, testFile]) {
    if (await exists(each)) throw new Error(`Cannot write ${each}: it exists already; choose another name`)
  }
  await writeNew(file, SAMPLE_OPERATOR)
  await writeNew(testFile, sampleTest(fileName(file)))
  writeLine(`wrote ${file}, an operator that keeps a Deployment for each Foo`)
  writeLine(`wrote ${testFile}, its test: node --test ${testFile}`)
  writeLine(`try    kubeloop dev ${file}`)
}
