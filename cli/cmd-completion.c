/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box completion SHELL, and the hidden box __complete that its scripts call. */
#include <string.h>

#include "cli/complete.h"
#include "cli/output.h"
#include "cli/session.h"
#include "images/inventory.h"
#include "images/template.h"
#include "vmm/pool.h"

static const char bash_script[] =
	"# bash completion for box; for ~/.bashrc: source <(box completion bash)\n"
	"_box()\n"
	"{\n"
	"	local line cur=${COMP_WORDS[COMP_CWORD]}\n"
	"	COMPREPLY=()\n"
	"	while IFS= read -r line; do\n"
	"		if [[ $line == :file ]]; then\n"
	"			[[ $cur == = ]] && cur=\n"
	"			compopt -o filenames 2>/dev/null\n"
	"			mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"		else\n"
	"			[[ $line != *: ]] || compopt -o nospace 2>/dev/null\n"
	"			COMPREPLY+=(\"${line%%$'\\t'*}\")\n"
	"		fi\n"
	"	done < <(\"${COMP_WORDS[0]}\" __complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
	"}\n"
	"complete -F _box box\n";

static const char zsh_script[] =
	"#compdef box\n"
	"# zsh completion for box; for ~/.zshrc: source <(box completion zsh)\n"
	"_box()\n"
	"{\n"
	"	local line\n"
	"	local -a found\n"
	"	for line in ${(f)\"$(\"${words[1]}\" __complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"}; do\n"
	"		if [[ $line == :file ]]; then\n"
	"			_files\n"
	"		else\n"
	"			found+=(\"${${line//:/\\\\:}/$'\\t'/:}\")\n"
	"		fi\n"
	"	done\n"
	"	(( $#found )) && _describe box found\n"
	"}\n"
	"if [[ $funcstack[1] == _box ]]; then\n"
	"	_box \"$@\"\n"
	"else\n"
	"	compdef _box box\n"
	"fi\n";

static const char fish_script[] =
	"# fish completion for box; for config.fish: box completion fish | source\n"
	"function __box_complete\n"
	"	set -l words (commandline -opc) (commandline -ct)\n"
	"	for line in ($words[1] __complete -- $words[2..-1] 2>/dev/null)\n"
	"		if test \"$line\" = :file\n"
	"			__fish_complete_path (commandline -ct)\n"
	"		else\n"
	"			echo $line\n"
	"		end\n"
	"	end\n"
	"end\n"
	"complete -c box -f -a '(__box_complete)'\n";

static const struct {
	const char *name, *script;
} shells[] = {
	{ "bash", bash_script },
	{ "zsh", zsh_script },
	{ "fish", fish_script },
};

int cmd_completion(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_str_ struct str shown = STR_INIT;

	(void)s;
	for (size_t i = 0; i < ARRAY_LEN(shells); i++)
		if (str_equal(call->args[0], shells[i].name))
			return output_text(shells[i].script, err);
	str_append_escaped(&shown, call->args[0], strlen(call->args[0]), false);
	return error_set(
		err, ERROR_USAGE, "no completion for '%s': bash, zsh or fish", str_get(&shown));
}

/* What the line says about the host: the value of --connect, lent; NULL when it has none. */
static const char *line_host(const struct call *call)
{
	for (size_t i = 0; i + 1 < call->count; i++) {
		if (str_starts(call->args[i], "--connect="))
			return call->args[i] + strlen("--connect=");
		if (str_equal(call->args[i], "--connect"))
			return call->args[i + 1];
	}
	return NULL;
}

static void append_labels(const struct box_row *row, const char *prefix, struct str *into)
{
	vec_foreach(struct meta_snapshot, snapshot, &row->meta.snapshots)
		str_printf(into, "%s%s%s\n", prefix, *prefix ? "/" : "", snapshot->label);
}

static void append_boxes(struct session *s, enum word kind, const char *before, struct str *into)
{
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;
	struct error ignored = { 0 };

	if (!session_virt(s, &ignored) || box_list(s->conn, &rows, &ignored) < 0)
		return;
	vec_foreach(struct box_row, row, &rows) {
		if (kind != WORD_LABEL)
			str_printf(into, "%s\n", row->name);
		if (kind == WORD_BOX_OR_LABEL)
			append_labels(row, row->name, into);
		if (kind == WORD_LABEL && str_equal(row->name, before))
			append_labels(row, "", into);
	}
}

static void append_templates(struct str *into)
{
	_cleanup_texts_ struct text_vec names = VEC_INIT;
	struct error ignored = { 0 };

	if (template_names(&names, &ignored) < 0)
		return;
	vec_foreach(char *, name, &names)
		str_printf(into, "%s\n", *name);
}

/* Golden images by their volumes: no manifest is read for a completion. */
static void append_images(struct session *s, struct str *into)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };
	struct error ignored = { 0 };

	if (session_virt(s, &ignored))
		pool = pool_open(s->conn, &ignored);
	if (!pool || pool_list(pool, &volumes, &ignored) < 0)
		return;
	for (int i = 0; i < volumes.len; i++) {
		const char *name = virStorageVolGetName(volumes.items[i]);

		if (name && image_part(name) == PART_GOLDEN)
			str_printf(into, "%.*s\n", (int)(strlen(name) - strlen(".qcow2")), name);
	}
}

/* A host that does not answer has no names to offer: completion is silent. */
static void host_words(enum word kind, const char *before, struct str *into, void *data)
{
	/* "box image mint" takes templates, the other actions take images or templates. */
	if (kind == WORD_TEMPLATE || kind == WORD_IMAGE)
		append_templates(into);
	if (kind == WORD_IMAGE && !str_equal(before, "mint"))
		append_images(data, into);
	if (kind == WORD_BOX || kind == WORD_BOX_OR_LABEL || kind == WORD_LABEL)
		append_boxes(data, kind, before, into);
}

int cmd_complete(struct session *s, const struct call *call, struct error *err)
{
	struct complete_source source = { .words = host_words, .data = s };
	_cleanup_str_ struct str text = STR_INIT;

	s->global.connect = line_host(call);
	complete_words(call->args, call->count, &source, &text);
	return output_str(&text, err);
}
