import { readTree } from '../tests/tools/tree.ts'
import { byFolder, phrasesIn, testNames, wideComments } from '../tests/structure/words.ts'
const lib = readTree(['lib', 'mod.ts'], /\.(ts|js)$/)
console.log('phrases', byFolder(lib, phrasesIn))
console.log('wide', byFolder(lib, (t) => wideComments(t).length))
console.log('names', byFolder(readTree(['tests'], /\.test\.ts$/), (t) => phrasesIn(testNames(t))))
