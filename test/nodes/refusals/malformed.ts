import { type Hex, type LocalAccount, numberToHex } from 'viem'
import { fieldsOf, signFields } from '../tools/signFields.js'
import { FEES, type Signed, type Workbench, withHash } from '../tools/workbench.js'
import type { RefusalName } from './names.js'
import type { Refusal } from './refusal.js'

const HIGHEST_NONCE = 2n ** 64n - 1n
/** The order of secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** No point of the curve has this x. */
const NO_POINT: Hex = '0x05'

const malformed = (
  name: RefusalName,
  make: (account: LocalAccount, bench: Workbench) => Promise<Signed>,
): Refusal => ({
  name,
  async provoke(bench) {
    const account = await bench.account()
    return { signed: await make(account, bench), account, free: 0 }
  },
})

export const invalid: readonly Refusal[] = [
  malformed('type 4 without a tuple', (account, bench) =>
    signFields(account, '0x04', [...fieldsOf(bench), []]),
  ),
  malformed('tip above the max fee', (account, bench) =>
    signFields(account, '0x02', fieldsOf(bench, { maxPriorityFeePerGas: FEES.maxFeePerGas + 1n })),
  ),
  malformed('signature of no key', (account, bench) =>
    signFields(account, '0x02', fieldsOf(bench), ({ s }) => ({ r: NO_POINT, s, yParity: 0 })),
  ),
  malformed('upper half of the curve', (account, bench) =>
    signFields(account, '0x02', fieldsOf(bench), ({ r, s, yParity }) => ({
      r,
      s: numberToHex(ORDER - BigInt(s)),
      yParity: 1 - yParity,
    })),
  ),
  malformed('highest nonce', (account, bench) =>
    signFields(account, '0x02', fieldsOf(bench, { nonce: HIGHEST_NONCE })),
  ),
  malformed('no transaction at all', async () => withHash('0x02c0ffee')),
]
