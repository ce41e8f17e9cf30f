import { performance } from 'node:perf_hooks'
import { Wallet } from 'ethers'
import type { Hex, TransactionSerializableEIP1559 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { nativeAccount, signingEngine } from '../../src/signer/index.js'
import { atLeast, type Claim, ratioOf } from '../claim.js'
import { CHAIN_ID, givenTransfer } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const KEY: Hex = `0x${'42'.repeat(32)}`
const MEASURE = 'transactions signed'

type Content = TransactionSerializableEIP1559
type Signer = { readonly name: string; readonly sign: (content: Content) => Promise<Hex> }

function signers(): readonly Signer[] {
  const [native, viem, ethers] = [nativeAccount(KEY), privateKeyToAccount(KEY), new Wallet(KEY)]
  return [
    { name: 'txlane, nativeAccount', sign: (content) => native.signTransaction(content) },
    { name: 'viem, privateKeyToAccount', sign: (content) => viem.signTransaction(content) },
    {
      name: 'ethers, Wallet',
      sign: async ({ type: _, gas, ...content }) =>
        (await ethers.signTransaction({ ...content, type: 2, gasLimit: gas ?? null } as never)) as Hex,
    },
  ]
}

const contentOf = (number: number): Content => ({
  type: 'eip1559',
  chainId: CHAIN_ID,
  nonce: number,
  ...givenTransfer(number),
})

export const claim: Claim = {
  says: 'nativeAccount signs many times faster than JavaScript, and the same bytes.',
  transactions: 1_000,
  async run({ rounds, transactions, say }) {
    const subjects = signers()
    const expected = new Map<number, Hex>()
    const { values, failures } = await takeTurns({
      subjects,
      rounds,
      run: async ({ sign }, { round }) => {
        const first = round * transactions
        const raws: Hex[] = []
        const begun = performance.now()
        for (let index = 0; index < transactions; index++) raws.push(await sign(contentOf(first + index)))
        const perSecond = (transactions * 1_000) / (performance.now() - begun)
        // The first signer of a round sets the expected bytes of the others.
        raws.forEach((raw, index) => {
          const before = expected.get(first + index)
          if (before !== undefined && before !== raw)
            throw new Error(`different bytes for transfer ${first + index}`)
          expected.set(first + index, raw)
        })
        return perSecond
      },
      show: (rate) => `${Math.round(rate)} signed a second`,
      say,
    })
    const figures = figuresOf({ measure: MEASURE, unit: 'a second, on one core' }, values)
    const [own, viem] = subjects.map(({ name }) => name) as [string, string]
    return {
      figures,
      checks: [
        atLeast("times viem's privateKeyToAccount", ratioOf(figures, MEASURE, own, { subject: viem }), 5),
      ],
      notes: [
        `${transactions} transfers a round, all byte-identical; nativeAccount signs with ${await signingEngine()} code here.`,
        ...failures,
      ],
    }
  },
}
