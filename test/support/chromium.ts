import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'

/** Debian's, unless another is named. */
export const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
export const hasChromium = existsSync(CHROMIUM)

// Generous, since the machines are shared: what hangs still ends.
const TIMEOUT_MS = 240_000

export type Browser = AsyncDisposable & {
  /** An empty page, and everything that it asks for or complains of. */
  open(): Promise<{ readonly page: Page; readonly requests: string[]; readonly complaints: string[] }>
}

/** Chromium without a window, with a profile of its own that is empty and goes with it. */
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
