import type { Page } from 'playwright-core'

const FRAME_MS_MAX = 20_000

/** The number of different colours in a chart. An empty chart has none. */
export async function colours(page: Page, id: string): Promise<number> {
  return page.evaluate(async (chart) => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    const canvas = document.querySelector<HTMLCanvasElement>(`#${chart} canvas`)
    const pixels = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? []
    const found = new Set<string>()
    for (let at = 0; at < pixels.length; at += 4) {
      if (pixels[at + 3] === 255) found.add(`${pixels[at]} ${pixels[at + 1]} ${pixels[at + 2]}`)
    }
    return found.size
  }, id)
}

/**
 * Asserts that nothing is wider than the window once the charts have resized, which takes until the next
 * frame.
 */
export async function fits(page: Page): Promise<void> {
  const isWithin = () => document.documentElement.scrollWidth === document.documentElement.clientWidth
  await page.waitForFunction(isWithin, undefined, { timeout: FRAME_MS_MAX })
}

/** Moves over the chart until an item is under the pointer. */
export async function pointAtSome(page: Page): Promise<void> {
  const box = await page.locator('#nonces').boundingBox()
  if (box === null) throw new Error('there is no chart')
  const tip = page.locator('#tip')
  for (let share = 0.15; share < 0.9; share += 0.05) {
    await page.mouse.move(box.x + box.width * share, box.y + box.height * (0.85 - share * 0.7))
    if (await tip.isVisible()) return
  }
  throw new Error('no transaction was found under the pointer')
}

export async function find(page: Page, text: string): Promise<void> {
  await page.locator('#tools input').fill(text)
  await page.locator('#tools form button').click()
}

/** The chart of nonces as it is after the next frames. */
export async function pictureOf(page: Page): Promise<string> {
  return page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    return document.querySelector<HTMLCanvasElement>('#nonces canvas')?.toDataURL() ?? ''
  })
}
