import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'

/** Debian's Chromium, unless `CHROMIUM_PATH` names another. */
export const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
export const hasChromium = existsSync(CHROMIUM)

// Generous, because the machines are shared. A page that hangs still times out.
const TIMEOUT_MS = 240_000

export type Browser = AsyncDisposable & {
  /** Opens an empty page, and collects its requests and its error messages. */
  open(): Promise<{ readonly page: Page; readonly requests: string[]; readonly complaints: string[] }>
}

/** Starts Chromium without a window, with an empty profile that is deleted on disposal. */
export async function startBrowser(): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'txlane-chromium-'))
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    headless: true,
    timeout: TIMEOUT_MS,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  context.setDefaultTimeout(TIMEOUT_MS)
  return {
    async open() {
      const page = await context.newPage()
      const [requests, complaints]: string[][] = [[], []]
      page.on('request', (request) => void requests?.push(request.url()))
      page.on('pageerror', (error) => void complaints?.push(String(error)))
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints?.push(message.text())
      })
      return { page, requests: requests as string[], complaints: complaints as string[] }
    },
    async [Symbol.asyncDispose]() {
      await context.close()
      rmSync(profile, { recursive: true, force: true })
    },
  }
}
