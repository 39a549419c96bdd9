// Exact fractions. A page about exactness cannot compare rounded numbers.

export class Rational {
  private constructor(
    readonly num: bigint,
    readonly den: bigint,
  ) {}

  static of(num: bigint | number, den: bigint | number = 1n): Rational {
    let [n, d] = [BigInt(num), BigInt(den)];
    if (d === 0n) throw new RangeError("the denominator of a fraction cannot be 0");
    if (d < 0n) [n, d] = [-n, -d];
    const divisor = gcd(n < 0n ? -n : n, d);
    return new Rational(n / divisor, d / divisor);
  }

  /** A whole number, a fraction "3/8" or a decimal "0.375"; null when it is none of these. */
  static parse(text: string): Rational | null {
    const fraction = /^([+-]?\d+)\s*\/\s*(\d+)$/.exec(text.trim());
    if (fraction) {
      const den = BigInt(fraction[2]!);
      return den === 0n ? null : Rational.of(BigInt(fraction[1]!), den);
    }
    const decimal = /^([+-]?)(\d*)(?:\.(\d*))?$/.exec(text.trim());
    if (!decimal || !(decimal[2] || decimal[3])) return null;
    const places = decimal[3] ?? "";
    const digits = BigInt(`${decimal[2] ?? ""}${places}`);
    return Rational.of(decimal[1] === "-" ? -digits : digits, 10n ** BigInt(places.length));
  }

  plus(other: Rational): Rational {
    return Rational.of(this.num * other.den + other.num * this.den, this.den * other.den);
  }

  minus(other: Rational): Rational {
    return this.plus(other.negated());
  }

  times(other: Rational): Rational {
    return Rational.of(this.num * other.num, this.den * other.den);
  }

  over(other: Rational): Rational {
    return Rational.of(this.num * other.den, this.den * other.num);
  }

  negated(): Rational {
    return new Rational(-this.num, this.den);
  }

  equals(other: Rational): boolean {
    return this.num === other.num && this.den === other.den;
  }

  get sign(): -1 | 0 | 1 {
    return this.num > 0n ? 1 : this.num < 0n ? -1 : 0;
  }

  min(other: Rational): Rational {
    return this.minus(other).sign <= 0 ? this : other;
  }

  max(other: Rational): Rational {
    return this.minus(other).sign >= 0 ? this : other;
  }

  toNumber(): number {
    return Number(this.num) / Number(this.den);
  }

  toString(): string {
    return this.den === 1n ? `${this.num}` : `${this.num}/${this.den}`;
  }

  /** The exact decimal, or null when it needs more than this many places. */
  exactDecimal(places: number): string | null {
    const scaled = this.num * 10n ** BigInt(places);
    if (scaled % this.den !== 0n) return null;
    return placed(scaled / this.den, places).replace(/\.?0+$/, "") || "0";
  }

  /** The decimal rounded half away from zero at this many places. */
  rounded(places: number): string {
    const scaled = this.num * 10n ** BigInt(places) * 2n;
    const half = scaled < 0n ? -this.den : this.den;
    return placed((scaled + half) / (this.den * 2n), places);
  }
}

export const ZERO = Rational.of(0);
export const ONE = Rational.of(1);

export function sum(values: readonly Rational[]): Rational {
  return values.reduce((total, value) => total.plus(value), ZERO);
}

export function gcd(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

function placed(scaled: bigint, places: number): string {
  const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(places + 1, "0");
  const cut = digits.length - places;
  const text = places ? `${digits.slice(0, cut)}.${digits.slice(cut)}` : digits;
  return scaled < 0n ? `-${text}` : text;
}
