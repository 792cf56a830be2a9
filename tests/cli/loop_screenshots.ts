/** Writes screenshots of the page of a running `kubeloop dev --ui`: `node tests/cli/loop_screenshots.ts URL FILE.png`. */
import { writeFileSync } from 'node:fs'
import process from 'node:process'
import { openPage } from './chromium.ts'

const [url = '', file = 'page.png', choose = ''] = process.argv.slice(2)
for (const scheme of ['light', 'dark']) {
  const page = await openPage(url)
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] })
  await page.until("document.querySelectorAll('#runs .row').length > 0")
  if (choose) await page.evaluate(choose)
  await page.until('true')
  await page.evaluate('new Promise((done) => setTimeout(done, 500))')
  const { data } = await page.send('Page.captureScreenshot', { format: 'png' })
  writeFileSync(file.replace(/\.png$/, `-${scheme}.png`), Buffer.from(String(data), 'base64'))
  console.log(page.errors)
  await page.close()
}
