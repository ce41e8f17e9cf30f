import { anotherChain, unprotected } from './chains.js'
import { gapped, reserved, second } from './delegated.js'
import { belowBaseFee, costsMuch, noTip } from './fees.js'
import { fullPool } from './fullPool.js'
import { noFunds, noFundsForSecond } from './funds.js'
import { gas } from './gas.js'
import { invalid } from './malformed.js'
import { gap, gapBehindOthers, tooLow } from './nonces.js'
import type { Refusal } from './refusal.js'
import { replacements } from './replacements.js'
import { sameMined, samePending } from './sameBytes.js'
import { data, initCode } from './sizes.js'

export const refusals: readonly Refusal[] = [
  samePending,
  sameMined,
  tooLow,
  ...replacements,
  gap,
  gapBehindOthers,
  fullPool,
  belowBaseFee,
  noTip,
  costsMuch,
  noFunds,
  noFundsForSecond,
  ...gas,
  anotherChain,
  unprotected,
  initCode,
  data,
  second,
  gapped,
  reserved,
  ...invalid,
]
