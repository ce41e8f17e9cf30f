import { buildLocalKms, findLocalKms } from './emulator/localKms.js'

// Builds the emulator of AWS KMS that test/kms needs, once per machine.
process.stdout.write(`${findLocalKms() ?? (await buildLocalKms())}\n`)
