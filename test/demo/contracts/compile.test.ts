import { expect, test } from 'vitest'
import { childContract, ledgerContract } from './artifact.js'
import { compileLedger } from './compile.js'

// The compiler is 8 MB of emscripten code, which takes seconds on a busy machine.
const COMPILE_MS = 60_000

test(
  'compiling Ledger.sol again gives the committed interface and the committed bytes',
  () => {
    const { ledger, child } = compileLedger()
    expect(ledger).toEqual(ledgerContract)
    expect(child).toEqual(childContract)
  },
  COMPILE_MS,
)
