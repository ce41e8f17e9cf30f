import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { payouts } from './cases/payouts.js'
import { presets } from './cases/presets.js'
import { quickStart } from './cases/quickStart.js'
import { syncSend } from './cases/syncSend.js'
import { anvil } from './nodes/anvil.js'
import { openSetting, runCase } from './run/runCase.js'

// The first steps of a newcomer, on a node as a newcomer starts it: it makes no empty blocks. Sync sends need
// blocks at intervals.
describe('anvil without options', () => {
  let setting: ReturnType<typeof openSetting>

  beforeAll(async () => {
    setting = openSetting(anvil, await anvil.locate(() => undefined))
  })
  afterAll(() => setting[Symbol.asyncDispose]())

  test.each([quickStart, payouts, presets, syncSend])('$name', async (one) => {
    const held = await runCase(one, setting)
    expect(held.ok, held.says).toBe(true)
  })
})
