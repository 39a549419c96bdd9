// Small pieces that several steps share.
import type { ComponentChildren } from "preact";
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import type { Rational } from "./rational";

/** Prose that the server has already turned into HTML. */
export function Html(props: { html: string; inline?: boolean }) {
  const inner = { dangerouslySetInnerHTML: { __html: props.html } };
  return props.inline ? <span {...inner} /> : <div class="prose" {...inner} />;
}

/** The words of HTML, for places that hold no markup. */
export function plainText(html: string): string {
  return new DOMParser().parseFromString(html, "text/html").body.textContent ?? "";
}

/** An exact value with its decimal beside it. */
export function Exact(props: { value: Rational; signed?: boolean }) {
  const { value } = props;
  const plus = props.signed && value.sign > 0 ? "+" : "";
  const decimal = value.exactDecimal(6);
  const shown = decimal ?? value.rounded(4);
  const whole = value.den === 1n;
  return (
    <span class="exact">
      <span class="fraction">{minus(plus + value.toString())}</span>
      {!whole && (
        <span class="decimal">
          {decimal === null ? "≈ " : ""}
          {minus(plus + shown)}
        </span>
      )}
    </span>
  );
}

/** A real minus sign instead of a hyphen. */
export function minus(text: string): string {
  return text.replace("-", "−");
}

export type Tone = "right" | "wrong" | "open" | "info";

const SIGNS: Record<Tone, string> = { right: "✓", wrong: "✗", open: "?", info: "i" };

/** Moves the keyboard to what takes the place of the button just pressed, once that is drawn. */
export function focusSoon(find: () => Element | null | undefined): void {
  requestAnimationFrame(() => (find() as HTMLElement | null | undefined)?.focus());
}

interface VerdictProps {
  tone: Tone;
  /** Lets `focusSoon` find it. */
  place?: RefObject<HTMLDivElement | null>;
  children: ComponentChildren;
}

/** A verdict is a sign and a sentence; its colour only repeats them. */
export function Verdict(props: VerdictProps) {
  return (
    <div class={`verdict ${props.tone}`} ref={props.place ?? null} tabIndex={props.place ? -1 : undefined}>
      <span class="sign" aria-hidden="true">
        {SIGNS[props.tone]}
      </span>
      <div>{props.children}</div>
    </div>
  );
}

/** Hints one at a time, counted, so that none is passed by accident. */
export function Hints(props: { hints: readonly string[]; shown: number; onShow(count: number): void }) {
  const { hints, shown } = props;
  const list = useRef<HTMLOListElement>(null);
  if (hints.length === 0) return null;
  const more = () => {
    props.onShow(shown + 1);
    if (shown + 1 === hints.length) focusSoon(() => list.current?.lastElementChild);
    announce(`Hint ${shown + 1} of ${hints.length} is shown.`);
  };
  return (
    <div class="hints">
      <ol ref={list}>
        {hints.slice(0, shown).map((hint) => (
          <li key={hint} tabIndex={-1}>
            <Html html={hint} />
          </li>
        ))}
      </ol>
      {shown < hints.length && (
        <button type="button" class="quiet" onClick={more}>
          Hint {shown + 1} of {hints.length}
        </button>
      )}
    </div>
  );
}

/** A button that asks once more before it does something hard to take back. */
export function Confirmed(props: { label: string; sure: string; onClick(): void; disabled?: boolean }) {
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    if (!asked) return;
    const timer = setTimeout(() => setAsked(false), 6000);
    return () => clearTimeout(timer);
  }, [asked]);
  const click = () => {
    if (asked) props.onClick();
    setAsked(!asked);
  };
  return (
    <button type="button" class="quiet" onClick={click} disabled={props.disabled ?? false}>
      {asked ? props.sure : props.label}
    </button>
  );
}

export const reducedMotion = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** The width of an element in pixels, so that a drawing's text keeps its size on any screen. */
export function useWidth<E extends Element>(first: number): [RefObject<E | null>, number] {
  const place = useRef<E>(null);
  const [width, setWidth] = useState(first);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const found = Math.round(entry?.contentRect.width ?? 0);
      if (found > 0) setWidth(found);
    });
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return [place, width];
}
