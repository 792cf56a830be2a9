/** The ways in which editors and tools save a file. */
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  openSync,
  renameSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'

export const WAYS: Readonly<Record<string, (file: string, text: string) => void>> = {
  'in place': (file, text) => writeFileSync(file, text),
  'by a rename over it, as sed -i does': (file, text) => {
    writeFileSync(`${file}.tmp`, text)
    renameSync(`${file}.tmp`, file)
  },
  'removed and made again': (file, text) => {
    unlinkSync(file)
    writeFileSync(file, text)
  },
  'emptied, then written in two steps': (file, text) => {
    const fd = openSync(file, 'r+')
    ftruncateSync(fd, 0)
    writeSync(fd, text.slice(0, 3), 0)
    writeSync(fd, text.slice(3), 3)
    closeSync(fd)
  },
  'put aside and written anew, as vim does': (file, text) => {
    renameSync(file, `${file}~`)
    writeFileSync(file, text)
    unlinkSync(`${file}~`)
  },
  'copied aside and written over, as vim does to a link': (file, text) => {
    copyFileSync(file, `${file}~`)
    writeFileSync(file, '')
    writeFileSync(file, text)
    unlinkSync(`${file}~`)
  },
}
