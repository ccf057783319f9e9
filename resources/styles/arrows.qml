<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis styleCategories="Symbology" version="3.34.0">
  <renderer-v2 type="singleSymbol" symbollevels="0" enableorderby="0" forceraster="0" referencescale="-1">
    <symbols>
      <symbol type="line" name="0" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="ArrowLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="is_curved" value="0"/>
            <Option type="QString" name="is_repeated" value="0"/>
            <Option type="QString" name="arrow_type" value="0"/>
            <Option type="QString" name="head_type" value="0"/>
            <Option type="QString" name="arrow_start_width" value="0.7"/>
            <Option type="QString" name="arrow_start_width_unit" value="MM"/>
            <Option type="QString" name="arrow_width" value="0.7"/>
            <Option type="QString" name="arrow_width_unit" value="MM"/>
            <Option type="QString" name="head_length" value="1.9"/>
            <Option type="QString" name="head_length_unit" value="MM"/>
            <Option type="QString" name="head_thickness" value="1.1"/>
            <Option type="QString" name="head_thickness_unit" value="MM"/>
          </Option>
          <symbol type="fill" name="@0@0" alpha="1" clip_to_extent="1" force_rhr="0">
            <layer class="SimpleFill" enabled="1" locked="0" pass="0">
              <Option type="Map">
                <Option type="QString" name="color" value="230,0,170,255"/>
                <Option type="QString" name="style" value="solid"/>
                <Option type="QString" name="outline_color" value="255,255,255,255"/>
                <Option type="QString" name="outline_style" value="solid"/>
                <Option type="QString" name="outline_width" value="0.25"/>
                <Option type="QString" name="outline_width_unit" value="MM"/>
              </Option>
            </layer>
          </symbol>
        </layer>
      </symbol>
    </symbols>
  </renderer-v2>
</qgis>
