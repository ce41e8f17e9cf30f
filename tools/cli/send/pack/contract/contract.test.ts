import { readFileSync } from 'node:fs'
import { type Client, keccak256, pad } from 'viem'
import { expect, test } from 'vitest'
import { compile } from '../../../../../test/support/compile.js'
import { PROBE_CODE } from './artifact.js'
import { findDisperse, isKnownCode } from './contract.js'

const CODE = '0x600160025b'
const METADATA = `a165627a7a72305820${'ab'.repeat(32)}0029`

test('code is recognised by its hash, whatever its metadata are, and by nothing less', () => {
  const hash = keccak256(CODE)
  expect(isKnownCode(CODE, hash)).toBe(true)
  expect(isKnownCode(`${CODE}${METADATA}`, hash)).toBe(true)
  expect(isKnownCode(`${CODE}00${METADATA}`, hash)).toBe(false)
  expect(isKnownCode(`${CODE}${METADATA.replace('0029', '0028')}`, hash)).toBe(false)
  expect(isKnownCode(CODE)).toBe(false)
})

test('other code at the address of the published contract is not used', async () => {
  const client = { request: async () => CODE } as unknown as Client
  await expect(findDisperse(client, 'Base', undefined)).rejects.toThrow(/Base has no disperse contract/)
  const address = pad('0xdd', { size: 20 })
  expect(await findDisperse(client, 'Base', address)).toEqual({ address, code: CODE, isKnown: false })
})

test('the code of the simulation is that of its source', () => {
  const source = readFileSync(new URL('./Probe.sol', import.meta.url), 'utf8')
  expect(compile('Probe', source).runtime).toBe(PROBE_CODE)
})
