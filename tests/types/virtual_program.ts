/** Checks TypeScript files that exist only in a test as if they were in this repository. */
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url))

export interface Complaint {
  readonly file: string
  /** Counted from 0. */
  readonly line: number
  readonly message: string
}

/** Returns the compiler's messages for files, given by their paths from the top of the repository. */
export function check(files: ReadonlyMap<string, string>): Complaint[] {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile) as { config: object }
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT)
  const program = ts.createProgram([...files.keys()].map((path) => ROOT + path), options, virtualHost(options, files))
  return [...files.keys()].flatMap((file) => {
    const source = program.getSourceFile(ROOT + file)!
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((
      { start = 0, messageText },
    ) => ({
      file,
      line: source.getLineAndCharacterOfPosition(start).line,
      message: ts.flattenDiagnosticMessageText(messageText, '\n'),
    }))
  })
}

/** The parsed files of the repository and its packages: all programs of a process share them. */
const parsed = new Map<string, ts.SourceFile | undefined>()

/** Returns a compiler host for this repository with additional files, given by their paths from the top. */
export function virtualHost(options: ts.CompilerOptions, files: ReadonlyMap<string, string>): ts.CompilerHost {
  const texts = new Map([...files].map(([path, text]) => [ROOT + path, text]))
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (path) => texts.has(path) || fileExists(path)
  host.getSourceFile = (path, version, ...rest) => {
    const text = texts.get(path)
    if (text !== undefined) return ts.createSourceFile(path, text, version)
    if (!parsed.has(path)) parsed.set(path, getSourceFile(path, version, ...rest))
    return parsed.get(path)
  }
  return host
}
