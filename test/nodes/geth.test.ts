import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { cases } from './cases/index.js'
import { geth, gethNoLocals } from './nodes/geth.js'
import { REFUSAL_NAMES } from './refusals/names.js'
import { leftOut, openSetting, runCase } from './run/runCase.js'

// test/support/gethFound.ts searches for it once for the whole run, and prints one line if there is none.
const found = inject('geth')

const differs = (name: string) =>
  REFUSAL_NAMES.some((one) => name.endsWith(one) && gethNoLocals.refusals[one] !== geth.refusals[one])

describe.skipIf(found === undefined).each([geth, gethNoLocals])('$name', (description) => {
  let setting: ReturnType<typeof openSetting>

  beforeAll(async () => {
    setting = openSetting(description, await description.locate(() => undefined))
  })
  afterAll(() => setting[Symbol.asyncDispose]())

  // Of the second description, only the cases in which it differs.
  const chosen = cases.filter(
    (one) =>
      one.quick && (description === geth || differs(one.name)) && leftOut(one, description) === undefined,
  )
  test.each(chosen)('$name', async (one) => {
    const held = await runCase(one, setting)
    expect(held.ok, held.says).toBe(true)
  })
})
