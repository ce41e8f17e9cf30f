import { expect, test } from 'vitest'
import { ANNA, BOB, MAINNET, payoutIn, stubClient } from '../payout.fixture.js'
import { resolveNames } from './names.js'

test('the dry run shows a name both ways, and the row has its normal form', async () => {
  const { rows, understood } = await payoutIn(`to,amount\nVitalik.ETH,1 ether\n${BOB},2 ether\n`)
  const to = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
  expect(rows.map(({ name, to }) => [name, to])).toEqual([
    ['vitalik.eth', to],
    [undefined, BOB],
  ])
  expect(understood).toContainEqual(['name', `vitalik.eth is ${to}, which has the same name`])
  expect(understood).toContainEqual(['first', `line 2: 1 ETH to vitalik.eth (${to})`])
})

test('a name that an earlier run resolved keeps its address, and is not resolved again', async () => {
  const names = new Map([['vitalik.eth', ANNA] as const])
  const { rows } = await payoutIn('to,amount\nvitalik.eth,1 ether\n', { names })
  expect(rows[0]?.to).toBe(ANNA)
  const on = { ...MAINNET, names: {} }
  expect((await payoutIn('to,amount\nvitalik.eth,1 ether\n', { names, on })).rows[0]?.to).toBe(ANNA)
})

test('many names take few calls', async () => {
  const names = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, index) => [`n${index}.eth`, ANNA] as const),
  )
  const stub = stubClient({ ...MAINNET, names })
  const resolutions = await resolveNames(Object.keys(names), stub, new Map())
  expect([...resolutions.values()].filter((each) => !(each instanceof Error))).toHaveLength(1_000)
  expect(stub.requests.length).toBeLessThan(50)
})
