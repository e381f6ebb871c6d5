// The commands of TeX that stand for one symbol, and the letters of its alphabets.

/** Lists of `name character`, by the element that the symbol becomes. */
const LISTS = {
  // Letters, which are italic.
  mi: `alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ nu ν xi ξ
    omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω imath ı jmath ȷ`,
  // Upright letters and other symbols without operands.
  upright: `Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω infty ∞ partial ∂ nabla ∇ emptyset ∅
    varnothing ∅ hbar ℏ ell ℓ Re ℜ Im ℑ aleph ℵ wp ℘ angle ∠ triangle △ degree ° prime ′ top ⊤ bot ⊥ ldots … dots … dotsc …
    vdots ⋮ ddots ⋱ # # $ $ % % & & _ _ square □ Box □ blacksquare ■ checkmark ✓ dagger † ddagger ‡ S § copyright © pounds £ clubsuit ♣
    diamondsuit ♢ heartsuit ♡ spadesuit ♠ flat ♭ sharp ♯ natural ♮ complement ∁ hslash ℏ mho ℧`,
  // Operators, relations and arrows.
  mo: `times × div ÷ pm ± mp ∓ cdot ⋅ cdots ⋯ dotsb ⋯ ast ∗ star ⋆ circ ∘ bullet ∙ oplus ⊕ ominus ⊖ otimes ⊗ oslash ⊘ odot ⊙ cap ∩
    cup ∪ uplus ⊎ sqcap ⊓ sqcup ⊔ vee ∨ lor ∨ wedge ∧ land ∧ setminus ∖ wr ≀ amalg ⨿ diamond ⋄ le ≤ leq ≤ leqslant ⩽ ge ≥ geq ≥ geqslant ⩾
    ne ≠ neq ≠ equiv ≡ approx ≈ approxeq ≊ cong ≅ sim ∼ simeq ≃ propto ∝ ll ≪ gg ≫ prec ≺ succ ≻ preceq ⪯ succeq ⪰ doteq ≐ asymp ≍ subset ⊂
    supset ⊃ subseteq ⊆ supseteq ⊇ subsetneq ⊊ supsetneq ⊋ sqsubseteq ⊑ sqsupseteq ⊒ in ∈ ni ∋ notin ∉ perp ⟂ parallel ∥ mid ∣ nmid ∤ vdash ⊢
    dashv ⊣ models ⊨ vDash ⊨ bowtie ⋈ smile ⌣ frown ⌢ forall ∀ exists ∃ nexists ∄ neg ¬ lnot ¬ therefore ∴ because ∵ colon : coloneqq ≔ triangleq ≜
    to → rightarrow → longrightarrow ⟶ gets ← leftarrow ← longleftarrow ⟵ leftrightarrow ↔ longleftrightarrow ⟷ Rightarrow ⇒ Longrightarrow ⟹
    implies ⟹ Leftarrow ⇐ Longleftarrow ⟸ impliedby ⟸ Leftrightarrow ⇔ Longleftrightarrow ⟺ iff ⟺ mapsto ↦ longmapsto ⟼ uparrow ↑ downarrow ↓
    updownarrow ↕ Uparrow ⇑ Downarrow ⇓ nearrow ↗ searrow ↘ swarrow ↙ nwarrow ↖ hookrightarrow ↪ hookleftarrow ↩ rightharpoonup ⇀
    rightleftharpoons ⇌ leadsto ⇝ lhd ⊲ rhd ⊳ triangleleft ◃ triangleright ▹ lesssim ≲ gtrsim ≳ trianglelefteq ⊴ ltimes ⋉ rtimes ⋊`,
  // Delimiters.
  fence: `{ { } } lbrace { rbrace } lbrack [ rbrack ] langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lvert | rvert | vert | | ‖ lVert ‖ rVert ‖
    Vert ‖ lgroup ⟮ rgroup ⟯ backslash \\`,
  // Operators with limits above and below in displayed formulas.
  big: `sum ∑ prod ∏ coprod ∐ bigcup ⋃ bigcap ⋂ bigvee ⋁ bigwedge ⋀ bigoplus ⨁ bigotimes ⨂ bigodot ⨀ biguplus ⨄ bigsqcup ⨆`,
  // Operators with limits at the side.
  integral: `int ∫ iint ∬ iiint ∭ oint ∮ oiint ∯`,
};

/** `{ kind, text }` by command. */
export const SYMBOLS = new Map(
  Object.entries(LISTS).flatMap(([kind, list]) => {
    const words = list.split(/\s+/);
    return Array.from({ length: words.length / 2 }, (_, index) => [words[2 * index], { kind, text: words[2 * index + 1] }]);
  }),
);

/** Functions whose name is upright. */
export const FUNCTIONS = new Set(
  'arccos arcsin arctan arg cos cosh cot coth csc deg dim exp hom ker lg ln log sec sin sinh tan tanh'.split(' '),
);

/** Functions with limits below in displayed formulas. */
export const LIMITS = new Map(
  'det gcd inf lim max min Pr sup limsup liminf argmax argmin'
    .split(' ')
    .map((name) => [name, name.replace(/^(lim|arg)(?=.)/, '$1\u2009')]),
);

/** Accents, and whether they stretch. */
export const ACCENTS = new Map([
  ['hat', ['^', false]], ['widehat', ['^', true]], ['bar', ['¯', false]], ['overline', ['¯', true]], ['vec', ['→', false]],
  ['overrightarrow', ['→', true]], ['overleftarrow', ['←', true]], ['tilde', ['~', false]], ['widetilde', ['~', true]], ['dot', ['˙', false]],
  ['ddot', ['¨', false]], ['check', ['ˇ', false]], ['breve', ['˘', false]], ['acute', ['´', false]], ['grave', ['`', false]],
  ['mathring', ['˚', false]], ['overbrace', ['⏞', true]],
]);

/** Widths of spaces, in em. */
export const SPACES = new Map([
  [',', 0.167], ['thinspace', 0.167], [':', 0.222], ['>', 0.222], [';', 0.278], ['!', -0.167], [' ', 0.25], ['~', 0.25], ['enspace', 0.5],
  ['quad', 1], ['qquad', 2], ['\n', 0.25],
]);

/** Offsets of Unicode's mathematical alphabets: capital letters, small letters, digits; 0 if there are none. */
const ALPHABETS = {
  mathbf: [0x1d400, 0x1d41a, 0x1d7ce], boldsymbol: [0x1d468, 0x1d482, 0x1d7ce], bm: [0x1d468, 0x1d482, 0x1d7ce], mathcal: [0x1d49c, 0, 0],
  mathscr: [0x1d49c, 0, 0], mathfrak: [0x1d504, 0x1d51e, 0], mathbb: [0x1d538, 0x1d552, 0x1d7d8], mathsf: [0x1d5a0, 0x1d5ba, 0x1d7e2],
  mathtt: [0x1d670, 0x1d68a, 0x1d7f6],
};

/** Letters that Unicode had before the alphabets. */
const EARLIER = {
  mathcal: { B: 'ℬ', E: 'ℰ', F: 'ℱ', H: 'ℋ', I: 'ℐ', L: 'ℒ', M: 'ℳ', R: 'ℛ' },
  mathfrak: { C: 'ℭ', H: 'ℌ', I: 'ℑ', R: 'ℜ', Z: 'ℨ' },
  mathbb: { C: 'ℂ', H: 'ℍ', N: 'ℕ', P: 'ℙ', Q: 'ℚ', R: 'ℝ', Z: 'ℤ' },
};
EARLIER.mathscr = EARLIER.mathcal;

/** Commands that change the alphabet of their argument. */
export const FONTS = new Set([...Object.keys(ALPHABETS), 'mathrm', 'mathit', 'mathnormal']);

/** A letter or digit in an alphabet. */
export function inAlphabet(font, text) {
  const [capitals = 0, small = 0, digits = 0] = ALPHABETS[font] ?? [];
  const earlier = EARLIER[font]?.[text];
  if (earlier) return earlier;
  const shifted = (offset, first) => (offset ? String.fromCodePoint(offset + text.charCodeAt(0) - first.charCodeAt(0)) : text);
  if (/^[A-Z]$/.test(text)) return shifted(capitals, 'A');
  if (/^[a-z]$/.test(text)) return shifted(small, 'a');
  if (/^\d$/.test(text)) return shifted(digits, '0');
  return text;
}
